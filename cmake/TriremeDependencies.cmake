# Third-party libraries. Each is used by few files behind our own interface;
# docs/reference/dependencies.md says what for. All come from Debian packages
# (tools/install-deps.sh).
find_package(Threads REQUIRED)

# What the inference library uses, and every room may: headers alone. They are the same for every
# architecture, so a cross build takes the build machine's.
foreach(header fmt/format.h kissfft/kissfft.hh nlohmann/json.hpp xxhash.h)
  string(MAKE_C_IDENTIFIER TRIREME_HEADER_${header} variable)
  find_path(${variable} ${header} REQUIRED)
  list(APPEND trireme_header_paths ${${variable}})
endforeach()
list(REMOVE_DUPLICATES trireme_header_paths)
add_library(trireme_headers INTERFACE)
target_include_directories(trireme_headers SYSTEM INTERFACE ${trireme_header_paths})
target_compile_definitions(trireme_headers INTERFACE XXH_INLINE_ALL)
if(TRIREME_INFERENCE_ONLY)
  return()
endif()
find_path(TRIREME_PROTOZERO protozero/pbf_reader.hpp REQUIRED)
target_include_directories(trireme_headers SYSTEM INTERFACE ${TRIREME_PROTOZERO})

# Debian's own Python: its packages (torch, numpy) are not importable from another one that may come
# first on PATH.
if(EXISTS /usr/bin/python3 AND NOT Python3_EXECUTABLE)
  set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that runs our tools and tests")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(PkgConfig REQUIRED)

find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/llvm)
add_library(trireme_llvm INTERFACE)
target_include_directories(trireme_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
if(TRIREME_BUNDLE)
  target_compile_definitions(trireme_llvm INTERFACE TRIREME_LLVM_FOR_TWO)
  # By its path, because it is made of what the code generator needs (cmake/TriremeBundle.cmake).
  target_link_libraries(trireme_llvm INTERFACE ${PROJECT_BINARY_DIR}/src/codegen/libtrireme_llvm.so)
else()
  target_link_directories(trireme_llvm INTERFACE ${LLVM_LIBRARY_DIRS})
  target_link_libraries(trireme_llvm INTERFACE LLVM-19)
endif()

# Debian's dnnl-config.cmake asks for OpenCL's development files, which we do not use.
find_library(DNNL_LIBRARY NAMES dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
add_library(trireme_dnnl INTERFACE)
target_include_directories(trireme_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(trireme_dnnl INTERFACE ${DNNL_LIBRARY})

find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
if(TRIREME_BUNDLE)
  # tar and zip alone: the shared library needs 35 MB of Unicode tables for another format.
  set_target_properties(PkgConfig::ARCHIVE PROPERTIES INTERFACE_LINK_LIBRARIES
    "${ARCHIVE_LIBDIR}/libarchive.a;bz2;lzma;nettle;zstd;z")
endif()
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
find_package(tomlplusplus REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)

# The pthread build, kept at one thread: our own pool cuts products into tiles, and the serial
# build's buffers are not safe to share between threads.
find_library(OPENBLAS_LIBRARY NAMES openblas
  HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread REQUIRED)
find_path(OPENBLAS_INCLUDE_DIR cblas.h
  HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread REQUIRED)
add_library(trireme_openblas INTERFACE)
target_include_directories(trireme_openblas SYSTEM INTERFACE ${OPENBLAS_INCLUDE_DIR})
target_link_libraries(trireme_openblas INTERFACE ${OPENBLAS_LIBRARY})

if(TRIREME_BUILD_APPS)
  find_package(CLI11 REQUIRED CONFIG)
endif()
if(TRIREME_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck CONFIG)
endif()

# Of the room `distributed` alone.
if(NOT TRIREME_BUILD_DISTRIBUTED)
  return()
endif()
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET rocksdb)
# With the flags that Debian built it with, which change its classes.
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
# Its target lacks the include directory where that is a default one.
find_package(Gloo REQUIRED CONFIG)
add_library(trireme_gloo INTERFACE)
target_link_libraries(trireme_gloo INTERFACE gloo)
