# cmake --install: headers (the generated ones too), libraries, command line, and two ways to find
# them: TriremeConfig.cmake with the components `trireme`, `onnx`, `distributed` and `inference`,
# and trireme.pc with a file for each other component. All are relocatable. tests/consumer uses
# them.
#
# Every file belongs to one of the install components library, onnx, dev, tools, inference and
# distributed; TriremePackage.cmake makes a Debian package of each.
include(CMakePackageConfigHelpers)

set(TRIREME_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Trireme)
file(RELATIVE_PATH TRIREME_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

# trireme_install_library(COMPONENT EXPORT target...): the shared library goes to COMPONENT; what
# programs are built with goes to dev.
function(trireme_install_library component export)
  install(TARGETS ${ARGN} EXPORT ${export}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(EXPORT ${export} NAMESPACE Trireme:: DESTINATION ${TRIREME_CMAKE_DIR} COMPONENT dev)
endfunction()

# trireme_install_pc(NAME): NAME.pc for pkg-config.
function(trireme_install_pc name)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# The inference library: shared and static.
trireme_install_library(inference TriremeInferenceTargets
  trireme_inference_shared trireme_inference_static)
install(FILES ${PROJECT_SOURCE_DIR}/include/trireme.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
trireme_install_pc(trireme-inference)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/TriremeConfig.cmake.in ${PROJECT_BINARY_DIR}/TriremeConfig.cmake
  INSTALL_DESTINATION ${TRIREME_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/TriremeConfig.cmake ${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
  DESTINATION ${TRIREME_CMAKE_DIR} COMPONENT dev)

if(TRIREME_INFERENCE_ONLY)
  foreach(header c dtype error export inference ragged shape tensor)
    install(FILES ${PROJECT_SOURCE_DIR}/include/trireme/${header}.h
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trireme COMPONENT dev)
  endforeach()
  return()
endif()

trireme_install_library(library TriremeTargets trireme)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trireme ${TRIREME_GENERATED_DIR}/include/trireme
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
trireme_install_library(onnx TriremeOnnxTargets trireme_onnx_library)
if(TRIREME_BUILD_DISTRIBUTED)
  trireme_install_library(distributed TriremeDistributedTargets trireme_distributed_library)
endif()

# pkg-config. A shared library needs nothing else. Users of the static library pass `--static` and
# get its libraries from the private lines.
set(TRIREME_PC_REQUIRES_PRIVATE "")
set(TRIREME_PC_LIBS_PRIVATE "")
if(NOT BUILD_SHARED_LIBS)
  get_filename_component(openblas_dir ${OPENBLAS_LIBRARY} DIRECTORY)
  set(TRIREME_PC_REQUIRES_PRIVATE "libpng zlib libturbojpeg libzstd pugixml yaml-cpp sentencepiece tomlplusplus")
  # By its name: libarchive's own file asks for the development files of all that it could be made
  # with.
  set(TRIREME_PC_LIBS_PRIVATE
    "-larchive -ldnnl -lgomp -L${openblas_dir} -lopenblas -L${LLVM_LIBRARY_DIRS} -lLLVM-19 -pthread -lstdc++")
endif()
if(TRIREME_BUILD_DISTRIBUTED)
  set(TRIREME_DISTRIBUTED_PC_REQUIRES_PRIVATE "")
  set(TRIREME_DISTRIBUTED_PC_LIBS_PRIVATE "")
  if(NOT BUILD_SHARED_LIBS)
    set(TRIREME_DISTRIBUTED_PC_REQUIRES_PRIVATE "grpc++ rocksdb cpp-httplib libcrypto")
    set(TRIREME_DISTRIBUTED_PC_LIBS_PRIVATE "-lgloo -lstdc++")
  endif()
  trireme_install_pc(trireme-distributed)
endif()
trireme_install_pc(trireme-onnx)
trireme_install_pc(trireme)
