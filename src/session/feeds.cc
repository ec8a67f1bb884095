#include "session/feeds.h"

#include <fmt/format.h>

#include "base/error.h"

namespace trireme {
namespace {

[[noreturn]] void fail_unknown(const ir::Program& program, const std::string& name) {
  std::vector<std::string> inputs;
  for (const auto& argument : program.main().arguments) inputs.push_back(argument->name);
  const std::string near = nearest(name, inputs);
  fail_usage(fmt::format("feed \"{}\": {} has no input of that name{}\n  inputs  {}", name,
                         program.name, near.empty() ? "" : "; did you mean \"" + near + "\"?",
                         inputs.empty() ? "none" : fmt::format("{}", fmt::join(inputs, ", "))));
}

[[noreturn]] void fail_mismatch(const ir::Value& input, const Tensor& tensor,
                                const std::string& hint) {
  fail_usage(fmt::format("feed \"{0}\" is {1}, but the input is {2}\n  hint   {3}", input.name,
                         tensor.type_str(), input.type.str(), hint));
}

void check_form(const ir::Value& input, const Tensor& tensor) {
  if (tensor.dtype() != input.type.dtype) {
    fail_mismatch(input, tensor,
                  fmt::format("convert it: tensor.cast(trireme::{})", name_of(input.type.dtype)));
  }
  if (tensor.rank() != input.type.rank()) {
    fail_mismatch(input, tensor,
                  tensor.rank() + 1 == input.type.rank()
                      ? "one example needs a first axis of size 1: tensor.reshaped({1, ...})"
                      : fmt::format("it needs {} axes", input.type.rank()));
  }
}

const ir::Value* find_input(const ir::Program& program, const std::string& name) {
  for (const auto& argument : program.main().arguments) {
    if (argument->name == name) return argument.get();
  }
  return nullptr;
}

void bind_symbol(const std::string& symbol, std::int64_t size, const std::string& feed,
                 SymbolSizes& sizes, std::map<std::string, std::string>& given_by) {
  const auto [known, is_new] = sizes.emplace(symbol, size);
  if (is_new) given_by[symbol] = feed;
  else if (known->second != size) {
    fail_usage(fmt::format("feed \"{}\": {} is {} here, but {} in feed \"{}\"", feed, symbol, size,
                           known->second, given_by[symbol]));
  }
}

}  // namespace

SymbolSizes bind_feeds(const ir::Program& program, const Feeds& feeds) {
  SymbolSizes sizes;
  std::map<std::string, std::string> given_by;
  for (const auto& [name, tensor] : feeds) {
    const ir::Value* input = find_input(program, name);
    if (input == nullptr) fail_unknown(program, name);
    check_form(*input, tensor);
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      const Dim& dim = input->type.shape[static_cast<std::size_t>(axis)];
      if (const auto symbol = dim.symbol()) {
        bind_symbol(*symbol, tensor.dim(axis), name, sizes, given_by);
      }
    }
  }
  for (const auto& [name, tensor] : feeds) {
    const ir::Value& input = *find_input(program, name);
    for (int axis = 0; axis < tensor.rank(); ++axis) {
      const std::int64_t wanted = input.type.shape[static_cast<std::size_t>(axis)].evaluate(sizes);
      if (tensor.dim(axis) != wanted) {
        fail_mismatch(input, tensor, fmt::format("axis {} must be {}", axis, wanted));
      }
    }
  }
  return sizes;
}

}  // namespace trireme
