# trireme_unity(TARGET): where TRIREME_UNITY is on, compiles files of the target as one, ten at a time, which takes a third of
# the time: most of that of a file goes into what it includes. Files that get in each other's way are kept apart by
# tools/unity_groups.py. For builds that nobody works in: a change costs its whole group.
option(TRIREME_UNITY "Compile files of a target together, to build all of it sooner" OFF)

function(trireme_unity target)
  if(NOT TRIREME_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(TRANSFORM sources REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unity_groups.py ${sources}
    OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    if(NOT CMAKE_MATCH_1 EQUAL 0)
      set_property(SOURCE ${CMAKE_MATCH_2} PROPERTY UNITY_GROUP ${target}_${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Says of a file that is included what it does not say of the same file compiled alone.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
