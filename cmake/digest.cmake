# cmake -DFOLDER=src/codegen/llvm -DOUT=digest.cc -P digest.cmake
# Writes a C++ file with a digest of the sources of the code generator: part of the keys of cached
# kernels, so that no kernel of another version is ever run. The file is left alone if it would not
# change.
file(GLOB files ${FOLDER}/*.cc ${FOLDER}/*.h)
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${file} digest)
  string(APPEND all "${digest}\n")
endforeach()
string(SHA256 digest "${all}")
set(text "// Made by cmake/digest.cmake; do not edit.
#include \"codegen/llvm/object_cache.h\"

namespace trireme::codegen {
const char* codegen_digest() { return \"${digest}\"; }
}  // namespace trireme::codegen
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
