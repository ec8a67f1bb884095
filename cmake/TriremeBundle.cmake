# For wheels (TRIREME_BUNDLE): a private shared library with what the code generator needs from
# LLVM, for x86-64 and AArch64. It exports these functions alone, under a version of its own, so
# that another copy of LLVM in the process is never mixed up with it. 39 MB instead of 129 MB.
# libtrireme and trireme_distributed share it.
llvm_map_components_to_libnames(trireme_llvm_archives orcjit passes X86 AArch64)
set(llvm_script ${CMAKE_CURRENT_BINARY_DIR}/llvm.map)
set(llvm_options ${CMAKE_CURRENT_BINARY_DIR}/llvm.rsp)
set(llvm_source ${CMAKE_CURRENT_BINARY_DIR}/llvm.cc)
file(TOUCH ${llvm_source})
add_custom_command(OUTPUT ${llvm_script} ${llvm_options}
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/llvm_symbols.sh ${llvm_script} ${llvm_options}
          $<TARGET_OBJECTS:trireme_codegen>
  DEPENDS $<TARGET_OBJECTS:trireme_codegen> ${PROJECT_SOURCE_DIR}/cmake/llvm_symbols.sh
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(trireme_llvm_symbols DEPENDS ${llvm_script})
add_library(trireme_llvm_library SHARED ${llvm_source})
add_dependencies(trireme_llvm_library trireme_llvm_symbols)
set_target_properties(trireme_llvm_library PROPERTIES
  OUTPUT_NAME trireme_llvm INSTALL_RPATH "$ORIGIN" LINK_DEPENDS "${llvm_script};${llvm_options}")
target_link_options(trireme_llvm_library PRIVATE
  @${llvm_options} LINKER:--gc-sections LINKER:--version-script=${llvm_script}
  LINKER:--as-needed LINKER:-s)
target_link_libraries(trireme_llvm_library PRIVATE ${trireme_llvm_archives})
