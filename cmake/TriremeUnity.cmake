# trireme_unity(TARGET): if TRIREME_UNITY is on, compiles up to 40 files of the target as one file;
# files that the build makes go alone.
# Headers and templates are then compiled once per group, which takes a quarter of the time.
# tools/unity_groups.py separates files whose definitions clash. Meant for CI: after a change of one
# file, its whole group is compiled again.
option(TRIREME_UNITY "Compile files of a target together, to build all of it sooner" OFF)

function(trireme_unity target)
  if(NOT TRIREME_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(TRANSFORM sources REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py --size 40 ${sources}
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    if(NOT CMAKE_MATCH_1 EQUAL 0)
      set_property(SOURCE ${CMAKE_MATCH_2} PROPERTY UNITY_GROUP ${target}_${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # This warning appears only for included files, not for the same file compiled alone.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
