#include "trireme/precision.h"

#include "base/error.h"

namespace trireme {

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::f32: return "f32";
    case Precision::bf16: return "bf16";
    case Precision::f16: return "f16";
  }
  return "";
}

Precision parse_precision(const std::string& name) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    if (name == name_of(precision)) return precision;
  }
  fail_usage("there is no precision \"" + name + "\": there are f32, bf16 and f16");
}

}  // namespace trireme
