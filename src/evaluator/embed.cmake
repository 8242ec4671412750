# cmake -DROOT=... -DFILES="a;b" -DOUTPUT=x.cpp -P embed.cmake: files as string literals, by their path below ROOT.
set(entries "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} content)
  string(APPEND entries "    {\"${file}\", R\"tik_file(${content})tik_file\"},\n")
endforeach()
file(WRITE ${OUTPUT}
     "#include \"src/evaluator/embedded_contract.h\"\n\nnamespace tik::evaluator {\n\n"
     "std::vector<EmbeddedFile> contract_files() {\n  return {\n${entries}  };\n}\n\n}  // namespace tik::evaluator\n")
