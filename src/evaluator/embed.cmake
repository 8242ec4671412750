# cmake -DROOT=... -DFILES="a;b" -DOUTPUT=x.cpp -DHEADER=... -DNAMESPACE=... -DFUNCTION=... -P embed.cmake: files as string literals, by
# their path below ROOT, returned by FUNCTION of HEADER as std::vector<EmbeddedFile>.
set(entries "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} content)
  string(APPEND entries "    {\"${file}\", R\"tik_file(${content})tik_file\"},\n")
endforeach()
file(WRITE ${OUTPUT}
     "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n"
     "std::vector<EmbeddedFile> ${FUNCTION}() {\n  return {\n${entries}  };\n}\n\n}  // namespace ${NAMESPACE}\n")
