#include "trireme/nn.h"

#include <utility>

namespace trireme::nn {

Initializer constant(double value) { return {"constant", {{"value", value}}}; }
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer uniform(double low, double high) { return {"uniform", {{"high", high}, {"low", low}}}; }
Initializer normal(double mean, double stddev) {
  return {"normal", {{"mean", mean}, {"stddev", stddev}}};
}
Initializer truncated_normal(double mean, double stddev) {
  return {"truncated_normal", {{"mean", mean}, {"stddev", stddev}}};
}
Initializer xavier_uniform(double gain) { return {"xavier_uniform", {{"gain", gain}}}; }
Initializer xavier_normal(double gain) { return {"xavier_normal", {{"gain", gain}}}; }
Initializer kaiming_uniform(double gain) { return {"kaiming_uniform", {{"gain", gain}}}; }
Initializer kaiming_normal(double gain) { return {"kaiming_normal", {{"gain", gain}}}; }
Initializer values(std::vector<double> numbers) {
  return {"values", {{"values", std::move(numbers)}}};
}
Initializer orthogonal(double gain) { return {"orthogonal", {{"gain", gain}}}; }

}  // namespace trireme::nn
