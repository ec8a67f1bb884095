// The Plan and its memory map as text, for people and for dumps.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/attributes.h"
#include "plan/plan.h"

namespace trireme::plan {

namespace {

const char* name_of_kind(BufferKind kind) {
  switch (kind) {
    case BufferKind::parameter: return "parameter";
    case BufferKind::feed: return "feed";
    case BufferKind::fetch: return "fetch";
    case BufferKind::arena: return "arena";
    case BufferKind::own: return "own";
  }
  return "?";
}

std::string join_buffers(const std::vector<int>& buffers) {
  std::string text;
  for (const int b : buffers) {
    if (!text.empty()) text += ", ";
    text += b < 0 ? std::string("scratch") : fmt::format("b{}", b);
  }
  return text;
}

std::string join_dims(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ", ";
    text += dim.str();
  }
  return text;
}

std::string print_buffer(const Plan& plan, std::size_t index) {
  const Buffer& b = plan.buffers[index];
  std::string text = fmt::format("  b{} {} : {}{}  // {}", index, name_of_kind(b.kind),
                                 name_of(b.dtype), str(b.shape), b.name);
  if (b.alias_of >= 0) text += fmt::format(", in b{}", b.alias_of);
  if (b.first_step >= 0) text += fmt::format(", steps {}-{}", b.first_step, b.last_step);
  return text + "\n";
}

std::string print_library(const LibraryCall& call) {
  std::string text = call.kernel + " {";
  const char* separator = "";
  for (const NamedAttribute& attribute : call.attributes) {
    text += fmt::format("{}{} = {}", separator, attribute.name, print_attribute(attribute.value));
    separator = ", ";
  }
  return text + "}";
}

std::string print_control(const Control& control) {
  constexpr const char* kNames[] = {"none", "cond", "while_loop", "scan", "rnn"};
  std::string text = fmt::format("{} {{carried = {}, sequences = {}, reverse = {}}}",
                                 kNames[static_cast<int>(control.kind)], control.carried,
                                 control.sequences, control.reverse);
  for (const Control::Size& size : control.sizes) text += " by " + size.symbol;
  for (const Nested& nested : control.blocks) {
    std::string inner = print(*nested.plan);
    for (std::size_t at = 0; (at = inner.find('\n', at)) != std::string::npos;) {
      inner.replace(at, 1, "\n        ");
      at += 9;
    }
    text += "\n        " + inner;
  }
  return text;
}

std::string print_step(const Plan& plan, std::size_t index) {
  const Step& s = plan.steps[index];
  std::string text = fmt::format("  {} {}\n      ", index, s.name);
  if (s.kernel >= 0) {
    const std::string trip =
        s.trip.denominator == 1
            ? s.trip.numerator.str()
            : fmt::format("ceil(({})/{})", s.trip.numerator.str(), s.trip.denominator);
    text += fmt::format("kernel {} ({}) sizes ({}) trip {} work {}",
                        plan.kernels[static_cast<std::size_t>(s.kernel)].name,
                        join_buffers(s.buffers), join_dims(s.sizes), trip, s.work.str());
    for (const Step::Scratch& scratch : s.scratch) {
      text += fmt::format(" scratch {} bytes at {}", scratch.bytes.str(), scratch.buffer);
    }
  } else if (s.control.kind != Control::Kind::none) {
    text += fmt::format("{} ({})", print_control(s.control), join_buffers(s.buffers));
  } else {
    text += fmt::format("library {} ({})", print_library(s.library), join_buffers(s.buffers));
  }
  if (!s.defines.empty()) text += fmt::format(" defines {}", s.defines);
  text +=
      fmt::format("\n      reads {}; writes {}\n", join_buffers(s.reads), join_buffers(s.writes));
  for (const std::string& source : s.sources) text += fmt::format("      from {}\n", source);
  return text;
}

std::string print_sizes(const SymbolSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = {}", name, size);
  }
  return text.empty() ? "no symbols" : text;
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text = fmt::format("plan: {} steps, {} kernels, {} buffers\n", plan.steps.size(),
                                 plan.kernels.size(), plan.buffers.size());
  text += fmt::format("symbols: {}\n", fmt::join(plan.symbols, ", "));
  text += fmt::format("fetches: {}\nbuffers\n", join_buffers(plan.fetches));
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) text += print_buffer(plan, i);
  text += "steps\n";
  for (std::size_t i = 0; i < plan.steps.size(); ++i) text += print_step(plan, i);
  return text;
}

namespace {

std::string ratio_of(std::int64_t bytes, std::int64_t arena_bytes) {
  if (arena_bytes == 0) return "1.00";
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(arena_bytes));
}

}  // namespace

std::string print_memory_map(const Plan& plan, const SymbolSizes& sizes) {
  const Placement placement = place(plan, sizes);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    if (placement.offsets[i] >= 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const int root = root_of(plan, static_cast<int>(i));
      const int first = plan.buffers[static_cast<std::size_t>(root)].first_step;
      return std::tuple(placement.offsets[i], first, i);
    };
    return key(a) < key(b);
  });
  std::string text = fmt::format("memory map at {}\n{:>12} {:>12} {:>11}  value\n",
                                 print_sizes(sizes), "offset", "bytes", "steps");
  for (const std::size_t i : order) {
    const Buffer& b = plan.buffers[i];
    const std::int64_t bytes =
        product(b.shape).evaluate(sizes) * static_cast<std::int64_t>(size_of(b.dtype));
    text += fmt::format(
        "{:>12} {:>12} {:>11}  {}{}\n", placement.offsets[i], bytes,
        b.first_step < 0 ? std::string("\"") : fmt::format("{}-{}", b.first_step, b.last_step),
        b.name, b.alias_of >= 0 ? fmt::format(" (in b{})", b.alias_of) : "");
  }
  text += fmt::format("arena {} bytes, sum of values {} bytes, ratio {}\n", placement.arena_bytes,
                      placement.sum_of_values,
                      ratio_of(placement.sum_of_values, placement.arena_bytes));
  const std::int64_t program_bytes = plan.program_bytes.evaluate(sizes);
  text += fmt::format("with the values that fusion never stores {} bytes, ratio {}\n",
                      program_bytes, ratio_of(program_bytes, placement.arena_bytes));
  return text;
}

}  // namespace trireme::plan
