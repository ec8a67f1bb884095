// The layers of sequences that a job may name.

#include "session/job/model.h"
#include "trireme/convolution.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"

namespace trireme::job {
namespace {

constexpr std::int64_t kMostLayers =
    200;  // of recurrent ones, and of top_k: beyond is a slip of the pen

template <class Options>
Options read_recurrent(Table& table) {
  Options options;
  options.units = table.required_size("units");
  const std::int64_t layers = table.size("layers", 1);
  if (layers > kMostLayers) fail_at(*table.node("layers"), "must be at most 200");
  options.layers = static_cast<int>(layers);
  options.bidirectional = table.boolean("bidirectional", false);
  options.reverse = table.boolean("reverse", false);
  options.dropout = table.number("dropout", 0);
  return options;
}

Value lstm(Table& table, Value x) {
  auto options = read_recurrent<nn::LstmOptions>(table);
  options.peepholes = table.boolean("peepholes", false);
  if (table.has("projection")) options.projection = table.size("projection", 1);
  options.forget_bias = table.number("forget_bias", options.forget_bias);
  return nn::lstm(x, options);
}

Value sequence_conv(Table& table, Value x) {
  nn::SequenceConvOptions options;
  options.units = table.required_size("units");
  options.kernel = table.size("kernel", options.kernel);
  if (table.has("first")) options.first = table.integer("first", 0, -kLargestSize);
  options.bias = table.boolean("bias", true);
  options.activation = read_activation(table);
  return nn::sequence_conv(x, options);
}

Value top_k(Table& table, Value x) {
  sequence::TopKOptions options;
  options.k = table.required_size("k");
  if (options.k > kMostLayers) fail_at(*table.node("k"), "must be at most 200");
  options.by_size = table.boolean("by_size", false);
  options.fill = table.number("fill", 0);
  return nn::flatten(sequence::top_k(x, options));
}

}  // namespace

std::vector<std::pair<std::string, ApplyLayer>> sequence_layers() {
  std::vector<std::pair<std::string, ApplyLayer>> layers = {
      {"simple_rnn",
       [](Table& t, Value x) {
         return nn::simple_rnn(x, read_recurrent<nn::RecurrentOptions>(t));
       }},
      {"gru",
       [](Table& t, Value x) { return nn::gru(x, read_recurrent<nn::RecurrentOptions>(t)); }},
      {"lstm", lstm},
      {"sequence_conv", sequence_conv},
      {"row_conv",
       [](Table& t, Value x) { return nn::row_conv(x, {.future = t.integer("future", 1, 0)}); }},
      {"sequence_top_k", top_k}};
  using Function = Value (*)(const Value&, SourceLocation);
  const std::pair<const char*, Function> functions[] = {
      {"sequence_sum", sequence::sum},        {"sequence_mean", sequence::mean},
      {"sequence_sqrt_n", sequence::sqrt_n},  {"sequence_max", sequence::max},
      {"sequence_min", sequence::min},        {"sequence_first", sequence::first},
      {"sequence_last", sequence::last},      {"sequence_reverse", sequence::reverse},
      {"sequence_flatten", sequence::flatten}};
  for (const auto& [name, function] : functions) {
    layers.emplace_back(
        name, [f = function](Table&, Value x) { return f(x, SourceLocation::current()); });
  }
  return layers;
}

}  // namespace trireme::job
