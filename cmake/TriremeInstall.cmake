# cmake --install: headers (the generated ones too), libraries, command line, and the two ways of
# finding them: TriremeConfig.cmake with the components `trireme`, `distributed` and `inference`,
# and trireme.pc with trireme-distributed.pc and trireme-inference.pc. All are relocatable.
# tests/consumer tries them.
include(CMakePackageConfigHelpers)

set(TRIREME_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Trireme)
file(RELATIVE_PATH TRIREME_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})

# The inference library: shared and static.
install(TARGETS trireme_inference_shared trireme_inference_static EXPORT TriremeInferenceTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TriremeInferenceTargets NAMESPACE Trireme:: DESTINATION ${TRIREME_CMAKE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/trireme.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/trireme-inference.pc.in
  ${PROJECT_BINARY_DIR}/trireme-inference.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/trireme-inference.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/TriremeConfig.cmake.in ${PROJECT_BINARY_DIR}/TriremeConfig.cmake
  INSTALL_DESTINATION ${TRIREME_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/TriremeConfig.cmake ${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
  DESTINATION ${TRIREME_CMAKE_DIR})

if(TRIREME_INFERENCE_ONLY)
  foreach(header dtype error export inference shape tensor)
    install(FILES ${PROJECT_SOURCE_DIR}/include/trireme/${header}.h
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trireme)
  endforeach()
  return()
endif()

install(TARGETS trireme EXPORT TriremeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/trireme ${TRIREME_GENERATED_DIR}/include/trireme
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT TriremeTargets NAMESPACE Trireme:: DESTINATION ${TRIREME_CMAKE_DIR})
if(TRIREME_BUILD_DISTRIBUTED)
  install(TARGETS trireme_distributed_library EXPORT TriremeDistributedTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT TriremeDistributedTargets NAMESPACE Trireme:: DESTINATION ${TRIREME_CMAKE_DIR})
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
  configure_file(${CMAKE_CURRENT_LIST_DIR}/trireme-distributed.pc.in
    ${PROJECT_BINARY_DIR}/trireme-distributed.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/trireme-distributed.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/trireme.pc.in ${PROJECT_BINARY_DIR}/trireme.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/trireme.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
