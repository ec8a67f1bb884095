// Kinds of machines that code is made for ahead of time.

#include "base/error.h"
#include "codegen/codegen.h"

namespace trireme::codegen {

Target named_target(const std::string& name) {
  // The levels of the x86-64 psABI; a vector of 64 bytes doubles the registers, too.
  if (name == "x86-64-v3") {
    return {.triple = "x86_64-unknown-linux-gnu",
            .cpu = name,
            .features = "",
            .vector_bytes = 32,
            .vector_registers = 16};
  }
  if (name == "x86-64-v4") {
    return {.triple = "x86_64-unknown-linux-gnu",
            .cpu = name,
            .features = "",
            .vector_bytes = 64,
            .vector_registers = 32};
  }
  if (name == "aarch64") {
    return {.triple = "aarch64-unknown-linux-gnu",
            .cpu = "generic",
            .features = "+neon",
            .vector_bytes = 16,
            .vector_registers = 32};
  }
  const std::vector<std::string> names{"x86-64-v3", "x86-64-v4", "aarch64", "native"};
  const std::string near = nearest(name, names);
  fail_usage("there is no target \"" + name + "\"" +
             (near.empty() ? "" : "; did you mean \"" + near + "\"?") +
             "\n  targets  x86-64-v3, x86-64-v4, aarch64, native");
}

}  // namespace trireme::codegen
