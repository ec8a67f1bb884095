#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trireme/error.h"

// Runs a parser on the fuzzer's bytes. Refusing them with a trireme::Error is right; any other
// exception, crash or hang is a finding, and so is an Error that blames us.
template <class F>
int fuzz(const std::uint8_t* data, std::size_t size, F parse) {
  try {
    parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const trireme::Error& error) {
    if (error.kind() == trireme::ErrorKind::internal) __builtin_trap();
  }
  return 0;
}
