# trireme_room(NAME [SELF_CONTAINED] [APART] [THREADS] [BEFORE_OPS] [LIBRARIES third-party...]
#              [SOURCES file...] [EXCLUDE file...] [PRECOMPILE header...] [O1_WITH sanitizer...]
#              [TEST option value...])
#
# A room is a folder of src/: every .cc in it (and below) that is not a test becomes part of the
# object library trireme_<room>; every *_test.cc, and every file of a folder `testing`, becomes part
# of the test program <room>_test. SOURCES takes these files alone and makes no test, EXCLUDE leaves
# files out. A SELF_CONTAINED room is part of the inference library, too: of other libraries it uses
# headers alone. A room APART is no part of the library, so that programs that do not want it need
# not have what it stands on. PRECOMPILE names headers that most files of a large room include, to
# be read once beside TRIREME_COMMON_HEADERS; files include what they need all the same
# (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows whether they do). TEST: options of its tests, as
# trireme_test takes them. THREAD_TESTS: test files, as regular expressions of their path in the
# room, that run code on several threads; they run in the suite threads, with ThreadSanitizer, and
# not in the suite unit. SYSTEM_TESTS: test files that take long because they sweep generated code,
# read whole data sets or run whole jobs; they become <room>_system_test of the suite system.
# tests/CMakeLists.txt explains the suites. THREADS: the room's code runs on several threads
# (tools/check_layers.py finds a room that does not say so). O1_WITH: tests with these sanitizers
# (address, thread) spend most of their time in the room's code, so it is compiled with -O1 then.
# BEFORE_OPS: it is compiled before trireme/ops.h is generated, because the generator needs it. The
# include rules between rooms are checked by tools/check_layers.py, not here.
set(TRIREME_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
# What most files of every room include: a third of the time that they take to compile is spent
# reading it.
set(TRIREME_COMMON_HEADERS <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <utility> <vector> <fmt/core.h> <base/error.h>)

function(trireme_room name)
  cmake_parse_arguments(ARG "SELF_CONTAINED;APART;THREADS;BEFORE_OPS" ""
    "LIBRARIES;SOURCES;EXCLUDE;PRECOMPILE;O1_WITH;TEST;SYSTEM_TESTS;THREAD_TESTS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(excluded ${ARG_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  if(ARG_SOURCES)
    set(sources ${ARG_SOURCES})
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/testing/[^/]*)\\.cc$")
  list(FILTER tests INCLUDE REGEX "(_test|/testing/[^/]*)\\.cc$")

  if(NOT sources)
    return()
  endif()

  set(target trireme_${name})
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${TRIREME_GENERATED_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE trireme_flags trireme_headers ${ARG_LIBRARIES})
  foreach(sanitizer ${ARG_O1_WITH})
    if(TRIREME_SANITIZE MATCHES ${sanitizer})
      target_compile_options(${target} PRIVATE -O1)
    endif()
  endforeach()
  if(TRIREME_FUZZ)  # what fuzzing is to reach; tests it does not
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(ARG_SELF_CONTAINED)
    # So that the linker removes functions that the inference library does not use.
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
    set_property(GLOBAL APPEND PROPERTY TRIREME_INFERENCE_ROOMS ${target})
  endif()
  # A room that is compiled as one or two files gains nothing.
  if(NOT TRIREME_UNITY OR ARG_PRECOMPILE)
    trireme_precompile(${target} ${TRIREME_COMMON_HEADERS} ${ARG_PRECOMPILE})
  endif()
  trireme_unity(${target})
  if(TARGET trireme_generate AND NOT ARG_BEFORE_OPS)
    add_dependencies(${target} trireme_generate)
  endif()
  if(ARG_APART)
    list(APPEND ARG_LIBRARIES ${target})  # for its tests
  else()
    set_property(GLOBAL APPEND PROPERTY TRIREME_ROOMS ${target})
    set_property(GLOBAL APPEND PROPERTY TRIREME_LIBRARIES ${ARG_LIBRARIES})
  endif()

  if(tests AND TRIREME_BUILD_TESTS)
    trireme_room_tests(${name} FILES ${tests} LIBRARIES ${ARG_LIBRARIES}
      SYSTEM_TESTS ${ARG_SYSTEM_TESTS} THREAD_TESTS ${ARG_THREAD_TESTS} TEST ${ARG_TEST})
  endif()
endfunction()

# trireme_apart_library(NAME [third-party...]): the library of a room APART, Trireme::NAME, which
# users link beside Trireme::trireme. If libtrireme is shared, it hides some functions of lower
# rooms: these are linked again here, and hidden again.
function(trireme_apart_library name)
  set(target trireme_${name}_library)
  add_library(${target} $<TARGET_OBJECTS:trireme_${name}>)
  add_library(Trireme::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME trireme_${name} EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION 0
    INSTALL_RPATH "$ORIGIN" LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PUBLIC trireme)
  if(BUILD_SHARED_LIBS)
    add_dependencies(${target} trireme_internal)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS $<TARGET_FILE:trireme_internal>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:$<TARGET_FILE:trireme_internal>>)
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL)
    if(TRIREME_UNITY)  # an object also brings the other files of its group and their dependencies
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:trireme_internal>)
    endif()
    if(NOT TRIREME_SANITIZE)
      target_link_options(${target} PRIVATE LINKER:--no-undefined)
    endif()
  endif()
  foreach(library ${ARGN})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()
endfunction()

# trireme_room_tests(NAME FILES file... [LIBRARIES library...] [SYSTEM_TESTS regex...]
# [THREAD_TESTS regex...] [TEST option value...]): makes NAME_test and NAME_system_test of the test
# files that TRIREME_TEST_SUITE selects; see trireme_room.
function(trireme_room_tests name)
  cmake_parse_arguments(ARG "" "" "FILES;LIBRARIES;SYSTEM_TESTS;THREAD_TESTS;TEST" ${ARGN})
  trireme_tests_of_suite(chosen system_tests ROOM_TESTS ${ARG_FILES}
    SYSTEM_TESTS ${ARG_SYSTEM_TESTS} THREAD_TESTS ${ARG_THREAD_TESTS})
  if(system_tests)
    trireme_test(${name}_system_test SOURCES ${system_tests} LIBRARIES ${ARG_LIBRARIES} ${ARG_TEST})
  endif()
  if(chosen)
    trireme_test(${name}_test SOURCES ${chosen} LIBRARIES ${ARG_LIBRARIES} ${ARG_TEST})
  endif()
endfunction()

# trireme_tests_of_suite(CHOSEN SYSTEM ROOM_TESTS file... SYSTEM_TESTS regex... THREAD_TESTS
# regex...): sets CHOSEN and SYSTEM to the test files of a room that TRIREME_TEST_SUITE selects; see
# trireme_room.
function(trireme_tests_of_suite chosen system)
  cmake_parse_arguments(ARG "" "" "ROOM_TESTS;SYSTEM_TESTS;THREAD_TESTS" ${ARGN})
  set(helpers ${ARG_ROOM_TESTS})
  list(FILTER helpers INCLUDE REGEX "/testing/[^/]*\\.cc$")
  foreach(kind SYSTEM THREAD)
    set(${kind})
    foreach(pattern ${ARG_${kind}_TESTS})
      set(matching ${ARG_ROOM_TESTS})
      list(FILTER matching INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${pattern})$")
      if(NOT matching)
        message(FATAL_ERROR "${kind}_TESTS: no test matches ${pattern} in ${CMAKE_CURRENT_SOURCE_DIR}")
      endif()
      list(APPEND ${kind} ${matching})
    endforeach()
  endforeach()
  set(unit ${ARG_ROOM_TESTS})
  list(REMOVE_ITEM unit "" ${SYSTEM} ${THREAD} ${helpers})
  set(wanted)
  if(TRIREME_TEST_SUITE MATCHES "^(all|unit)$")
    list(APPEND wanted ${unit})
  endif()
  if(TRIREME_TEST_SUITE MATCHES "^(all|threads)$")
    list(APPEND wanted ${THREAD})
  endif()
  if(wanted)
    list(APPEND wanted ${helpers})
  endif()
  if(NOT TRIREME_TEST_SUITE MATCHES "^(all|system)$" OR NOT SYSTEM)
    set(SYSTEM)
  else()
    list(APPEND SYSTEM ${helpers})
  endif()
  set(${chosen} ${wanted} PARENT_SCOPE)
  set(${system} ${SYSTEM} PARENT_SCOPE)
endfunction()

# The headers that all tests share, to be read once.
if(TRIREME_BUILD_TESTS)
  add_executable(trireme_test_headers EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/test_headers.cc)
  target_link_libraries(trireme_test_headers PRIVATE trireme_quick GTest::gmock)
  trireme_precompile(trireme_test_headers <gmock/gmock.h> <gtest/gtest.h>)
endif()

# trireme_test(NAME SOURCES file... [LIBRARIES library...] [LABEL label] [TIMEOUT seconds] [COST n]
# [SHARDS n] [FILTER tests]) Unit tests use internal headers, so they link the static
# library of all rooms. COST: tests with a higher cost begin earlier. SHARDS: it runs as this
# many processes, each with its share. For tests that mostly wait, and for tests that would keep one
# processor busy when all others are done. FILTER: as --gtest_filter. Sanitizers are given twice
# the TIMEOUT.
function(trireme_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;COST;SHARDS;FILTER" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE trireme_internal trireme_quick trireme_headers
                                        ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  trireme_precompile(${name} REUSE_FROM trireme_test_headers)
  trireme_unity(${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(TRIREME_SANITIZE)
    math(EXPR ARG_TIMEOUT "2 * ${ARG_TIMEOUT}")
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABEL)
    list(APPEND properties LABELS ${ARG_LABEL})
  endif()
  if(ARG_COST)
    list(APPEND properties COST ${ARG_COST})
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${name})
    set(environment "TRIREME_CACHE_DIR=${PROJECT_BINARY_DIR}/cache;TRIREME_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
    if(ARG_FILTER)
      list(APPEND environment "GTEST_FILTER=${ARG_FILTER}")
    endif()
    if(ARG_SHARDS GREATER 1)
      string(APPEND test _${shard})
      math(EXPR index "${shard} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
    endif()
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES ${properties} ENVIRONMENT "${environment}")
  endforeach()
endfunction()
