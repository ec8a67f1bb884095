# Flags every target shares: the language, warnings, visibility, sanitizers, ccache and the linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TRIREME_CCACHE ccache)
if(TRIREME_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Sloppiness as ccache wants it for precompiled headers; depend: no run of the preprocessor of its
  # own, which would cost a sixth of a first build.
  set(launcher ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${TRIREME_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

find_program(TRIREME_MOLD mold)
if(TRIREME_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

# Everything we compile links this; consumers never see it.
add_library(trireme_flags INTERFACE)
target_compile_options(trireme_flags INTERFACE
  -Wall -Wextra -Werror -Wno-missing-field-initializers -fno-math-errno)

# What is shipped stops at overflows of buffers and of the stack, and has no writable tables of
# addresses. docs/how-to/packages.md has the measured cost.
if(TRIREME_HARDEN AND NOT TRIREME_SANITIZE)
  target_compile_options(trireme_flags INTERFACE
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>
    $<$<CONFIG:Release>:-fstack-protector-strong>)
  add_link_options($<$<CONFIG:Release>:LINKER:-z,relro,-z,now>)
endif()

# The same for code that does not compute: without optimization where nothing is shipped. g++ 12
# warns of a memcpy out of bounds in the operator+ of std::string where it optimizes (GCC bug
# 105651).
add_library(trireme_quick INTERFACE)
target_link_libraries(trireme_quick INTERFACE trireme_flags)
target_compile_options(trireme_quick INTERFACE
  $<$<CONFIG:Debug>:-O0>
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>")

# trireme_precompile(TARGET header...): the compiler reads these once for all files of the target.
# trireme_precompile(TARGET REUSE_FROM OTHER): what was read for another target with the same flags.
function(trireme_precompile target)
  if(NOT ARGN)
    return()
  endif()
  if("${ARGV1}" STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  # For ccache: what the header contains counts, not when it was compiled.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

if(TRIREME_SANITIZE)
  add_compile_options(-fsanitize=${TRIREME_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  # AddressSanitizer detects nearly everything that object-size detects, and object-size takes a
  # fifth of the compile time.
  if(TRIREME_SANITIZE MATCHES "address")
    add_compile_options(-fno-sanitize=object-size)
  endif()
  add_link_options(-fsanitize=${TRIREME_SANITIZE})
endif()
