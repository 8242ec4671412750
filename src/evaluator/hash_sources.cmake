# cmake -DROOT=... -DFILES="a;b" -DOUTPUT=version.cpp -P hash_sources.cmake: defines tik::evaluator::evaluator_version, the beginning of a
# SHA-256 over the names below ROOT and the contents of the files.
list(SORT FILES)
set(hashes "")
foreach(file ${FILES})
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND hashes "${hash} ${file}\n")
endforeach()
string(SHA256 version "${hashes}")
string(SUBSTRING ${version} 0 12 version)
file(WRITE ${OUTPUT}
     "#include \"src/evaluator/version.h\"\n\nnamespace tik::evaluator {\n\n"
     "constinit std::string_view const evaluator_version = \"${version}\";\n\n}  // namespace tik::evaluator\n")
