// Kinds of machines that code is made for ahead of time.

#include "base/error.h"
#include "codegen/codegen.h"

namespace trireme::codegen {

namespace {

struct Named {
  const char* name;
  Target target;
};

// Of x86-64 the levels of its psABI, and these with the first processor's instructions for products
// of bytes.
const std::vector<Named>& named_targets() {
  const char* const kX86 = "x86_64-unknown-linux-gnu";
  static const std::vector<Named> targets{
      {"x86-64-v3", {.triple = kX86, .cpu = "x86-64-v3", .features = "", .vector_bytes = 32}},
      {"alderlake",
       {.triple = kX86,
        .cpu = "x86-64-v3",
        .features = "+avxvnni",
        .vector_bytes = 32,
        .products = Target::Products::unsigned_bytes}},
      {"x86-64-v4", {.triple = kX86, .cpu = "x86-64-v4", .features = "", .vector_bytes = 64}},
      {"cascadelake",
       {.triple = kX86,
        .cpu = "x86-64-v4",
        .features = "+avx512vnni",
        .vector_bytes = 64,
        .products = Target::Products::unsigned_bytes}},
      {"sapphirerapids",
       {.triple = kX86,
        .cpu = "sapphirerapids",
        .features = "",
        .vector_bytes = 64,
        .products = Target::Products::unsigned_bytes}},
      {"aarch64",
       {.triple = "aarch64-unknown-linux-gnu",
        .cpu = "generic",
        .features = "+neon",
        .vector_bytes = 16}},
      {"armv8.2-dotprod",
       {.triple = "aarch64-unknown-linux-gnu",
        .cpu = "generic",
        .features = "+v8.2a,+neon,+dotprod",
        .vector_bytes = 16,
        .products = Target::Products::signed_bytes}},
  };
  return targets;
}

}  // namespace

Target named_target(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Named& known : named_targets()) {
    if (name == known.name) return known.target;
    names.emplace_back(known.name);
    list += names.back() + ", ";
  }
  names.emplace_back("native");  // the caller resolves it
  const std::string near = nearest(name, names);
  fail_usage("there is no target \"" + name + "\"" +
             (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n  targets  " + list +
             "native");
}

}  // namespace trireme::codegen
