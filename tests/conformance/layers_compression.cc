// Layers of small networks: trireme/compression.h.

#include "layers.h"
#include "trireme/compression.h"
#include "trireme/convolution.h"

namespace trireme::conformance {
namespace {

void add_low_bit(std::vector<Case>& cases) {
  const Input matrix{{6, 5}}, image{{4, 3, 2, 2}};
  cases.push_back(layer(
      "binarize", {{{5, 37}}}, [](auto& x) { return nn::binarize(x[0]); },
      "formulas.binarize(x[0])"));
  cases.push_back(layer(
      "binary_weight", {matrix}, [](auto& x) { return nn::binary_weight(x[0]); },
      "formulas.binary_weight(x[0], None)"));
  cases.push_back(layer(
      "binary_weight of units", {image},
      [](auto& x) { return nn::binary_weight(x[0], {.axis = 0}); },
      "formulas.binary_weight(x[0], 0)"));
  cases.push_back(layer(
      "ternary_weight", {matrix}, [](auto& x) { return nn::ternary_weight(x[0]); },
      "formulas.ternary_weight(x[0], None)"));
  cases.push_back(layer(
      "ternary_weight of units", {matrix},
      [](auto& x) { return nn::ternary_weight(x[0], {.axis = -1}); },
      "formulas.ternary_weight(x[0], 1)"));
  for (const int bits : {2, 3, 4, 5, 6}) {
    const std::string text = std::to_string(bits);
    cases.push_back(layer(
        "power_of_two_weight of " + text + " bits", {image},
        [bits](auto& x) { return nn::power_of_two_weight(x[0], {.bits = bits}); },
        "formulas.power_of_two_weight(x[0], " + text + ", None)"));
  }
  cases.push_back(layer(
      "power_of_two_weight of units", {image},
      [](auto& x) { return nn::power_of_two_weight(x[0], {.bits = 3, .axis = 0}); },
      "formulas.power_of_two_weight(x[0], 3, 0)"));
  cases.push_back(layer(
      "linear with binary weights", {{{7, 5}}},
      [](auto& x) { return nn::linear(x[0], {.units = 3, .weight_form = nn::WeightForm::binary}); },
      "x[0] @ formulas.binary_weight(x[1], 1) + x[2]", -1.5, 1.5));
  cases.push_back(layer(
      "conv2d with ternary weights", {{{2, 3, 5, 5}}},
      [](auto& x) {
        return nn::conv2d(x[0], {.channels = 4, .weight_form = nn::WeightForm::ternary});
      },
      "F.conv2d(x[0], formulas.ternary_weight(x[1], 0), x[2])", -1.5, 1.5));
  cases.push_back(layer(
      "conv1d with weights of 4 bits", {{{2, 3, 9}}},
      [](auto& x) {
        return nn::conv1d(x[0], {.channels = 4, .weight_form = nn::WeightForm::log4});
      },
      "F.conv1d(x[0], formulas.power_of_two_weight(x[1], 4, 0), x[2])", -1.5, 1.5));
}

void add_distillation(std::vector<Case>& cases) {
  for (const double temperature : {1.0, 4.0}) {
    const std::string t = std::to_string(temperature);
    cases.push_back(layer(
        "distillation at temperature " + t, {{{5, 7}}, {{5, 7}}},
        [temperature](auto& x) {
          return nn::distillation(x[0], x[1], {.temperature = temperature});
        },
        "F.kl_div(F.log_softmax(x[0] / " + t + ", -1), F.softmax(x[1].detach() / " + t +
            ", -1), reduction='none').sum(-1) * " + t + " ** 2"));
  }
  cases.push_back(layer(
      "attention_transfer", {{{3, 4, 5, 2}}, {{3, 2, 5, 2}}},
      [](auto& x) { return nn::attention_transfer(x[0], x[1]); },
      "(F.normalize((x[0] ** 2).mean(1).flatten(1)) - "
      "F.normalize((x[1].detach() ** 2).mean(1).flatten(1))).pow(2).mean(1)"));
  cases.push_back(layer(
      "relation_distance", {{{6, 4}}, {{6, 3}}},
      [](auto& x) { return nn::relation_distance(x[0], x[1]); },
      "formulas.relation_distance(x[0], x[1].detach())"));
  cases.push_back(layer(
      "relation_angle", {{{5, 4}}, {{5, 3}}},
      [](auto& x) { return nn::relation_angle(x[0], x[1]); },
      "formulas.relation_angle(x[0], x[1].detach())"));
}

}  // namespace

void add_compression(std::vector<Case>& cases) {
  add_low_bit(cases);
  add_distillation(cases);
}

}  // namespace trireme::conformance
