# Debian packages by CPack, one for each install component: `make package`.
if(NOT PROJECT_IS_TOP_LEVEL OR TRIREME_INFERENCE_ONLY OR NOT BUILD_SHARED_LIBS)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trireme)
set(CPACK_PACKAGE_VENDOR "The Trireme maintainers")
set(CPACK_PACKAGE_CONTACT "The Trireme maintainers <maintainers@trireme.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deep-learning framework in C++20")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${PROJECT_BINARY_DIR}/src ${PROJECT_BINARY_DIR}/src/onnx ${PROJECT_BINARY_DIR}/src/distributed)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Notices of libraries whose headers and archives are compiled in. None without Debian packages.
set(TRIREME_NOTICES)
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
  set(alone)
  if(NOT TRIREME_BUILD_DISTRIBUTED)
    set(alone --alone)
  endif()
  execute_process(COMMAND tools/install-deps.sh --list ${alone} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" packages "${packages}")
  set(notices ${PROJECT_BINARY_DIR}/packages/NOTICES)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
  execute_process(COMMAND tools/third_party_notices.py ${notices} ${packages}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} RESULT_VARIABLE status)
  if(status EQUAL 0)
    execute_process(COMMAND gzip -9nf ${notices} COMMAND_ERROR_IS_FATAL ANY)
    set(TRIREME_NOTICES ${notices}.gz)
  else()
    message(STATUS "Packages will have no notices of libraries: see the line above")
  endif()
endif()

# trireme_package(COMPONENT NAME SECTION SUMMARY DEPENDS DESCRIPTION): the metadata of a package and
# its copyright and changelog files. DEPENDS: other packages of the same version.
set(TRIREME_PACKAGES)
function(trireme_package component name section summary depends description)
  string(TOUPPER ${component} upper)
  set(relations)
  foreach(package ${depends})
    list(APPEND relations "${package} (= ${PROJECT_VERSION}-1)")
  endforeach()
  list(JOIN relations ", " relations)
  foreach(pair "NAME=${name}" "SECTION=${section}" "DEPENDS=${relations}")
    string(REGEX MATCH "^([A-Z]+)=(.*)$" ignored "${pair}")
    set(CPACK_DEBIAN_${upper}_PACKAGE_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}" PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${summary}\n${description}" PARENT_SCOPE)
  if(NOT component MATCHES "^(tools|dev)$")  # it has a shared library
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
      ${PROJECT_SOURCE_DIR}/cmake/package/triggers PARENT_SCOPE)
  endif()
  set(documents ${PROJECT_BINARY_DIR}/packages/${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package/copyright.in ${documents}/copyright @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package/changelog.in ${documents}/changelog @ONLY)
  execute_process(COMMAND gzip -9nf ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(RENAME ${documents}/changelog.gz ${documents}/changelog.Debian.gz)
  install(FILES ${documents}/copyright ${documents}/changelog.Debian.gz ${TRIREME_NOTICES}
    DESTINATION share/doc/${name} COMPONENT ${component})
  list(APPEND TRIREME_PACKAGES ${component})
  set(TRIREME_PACKAGES ${TRIREME_PACKAGES} PARENT_SCOPE)
endfunction()

trireme_package(inference libtrireme-inference0 libs
  "inference library of the Trireme deep-learning framework" ""
  "It runs models that were compiled ahead of time.\nIt needs no compiler and no other library.")
trireme_package(library libtrireme0 libs
  "library of the Trireme deep-learning framework" ""
  "It builds, compiles, trains and runs neural networks from C++.")
trireme_package(onnx libtrireme-onnx0 libs
  "models of ONNX for the Trireme deep-learning framework" libtrireme0
  "It reads models of ONNX as Programs and writes saved models as models of ONNX.")
set(dev_depends libtrireme0 libtrireme-onnx0 libtrireme-inference0)
if(TRIREME_BUILD_DISTRIBUTED)
  trireme_package(distributed trireme-distributed science
    "distributed training with the Trireme deep-learning framework" "libtrireme0;trireme-tools"
    "It has parameter servers, all-reduce and elastic jobs:\nthe library, and the program that trireme launch runs.")
  list(APPEND dev_depends trireme-distributed)
endif()
trireme_package(tools trireme-tools science
  "command line of the Trireme deep-learning framework" "libtrireme0;libtrireme-onnx0"
  "The program trireme trains, tests, compiles and inspects models.")
trireme_package(dev libtrireme-dev libdevel
  "development files of the Trireme deep-learning framework" "${dev_depends}"
  "It has headers, static inference library, and files for CMake and pkg-config.")
set(CPACK_COMPONENTS_ALL ${TRIREME_PACKAGES})
include(CPack)
