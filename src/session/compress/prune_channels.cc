#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ir/program.h"
#include "session/compress/channel_groups.h"
#include "session/model/inference_program.h"
#include "trireme/pruning.h"

namespace trireme {
namespace {

using compression::ChannelGroups;
using Indices = std::vector<std::int64_t>;

// A weight that makes the channels of a group.
struct Producer {
  const ir::Parameter* parameter;
  std::size_t axis;
};
struct Group {
  std::int64_t channels = 0;
  std::vector<Producer> producers;
  std::vector<const ir::Parameter*> scales;  // weights of batch norms
};

// The axis of the channels that a weight makes.
std::size_t channel_axis(const ir::Parameter& weight) {
  return weight.value->type.shape.size() == 2 ? 1 : 0;
}

// The groups whose channels can be removed, by their number.
std::map<int, Group> free_groups(const ir::Program& program, const ChannelGroups& axes) {
  std::map<int, Group> groups;
  for (const auto& parameter : program.parameters()) {
    const std::size_t rank = parameter->value->type.shape.size();
    if (!parameter->trainable || parameter->value->type.dtype != f32 || rank < 2) continue;
    const std::size_t axis = channel_axis(*parameter);
    const auto place = axes.place(parameter->value.get(), axis);
    if (!axes.is_free(place.group) || place.inner != 1) continue;
    Group& group = groups[place.group];
    group.channels = parameter->value->type.shape[axis].constant();
    group.producers.push_back({parameter.get(), axis});
  }
  for (const auto& parameter : program.parameters()) {
    if (!parameter->trainable || parameter->value->type.shape.size() != 1) continue;
    const auto place = axes.place(parameter->value.get(), 0);
    const auto found = groups.find(place.group);
    if (found == groups.end() || place.inner != 1) continue;
    if (parameter->name().ends_with(".weight")) found->second.scales.push_back(parameter.get());
  }
  return groups;
}

// Calls `visit` with the channel and each of its numbers, in row-major order.
template <class Visit>
void for_each_number(const Tensor& weight, std::size_t axis, const Visit& visit) {
  std::int64_t inner = 1;
  for (int i = static_cast<int>(axis) + 1; i < weight.rank(); ++i) inner *= weight.dim(i);
  const std::int64_t channels = weight.dim(static_cast<int>(axis));
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    visit(static_cast<std::size_t>(i / inner % channels), weight.data<float>()[i]);
  }
}

// The sizes of the channels; empty if the criterion has none.
std::vector<double> sizes_of(const Group& group, Session& session, ChannelCriterion criterion) {
  const auto channels = static_cast<std::size_t>(group.channels);
  std::vector<double> sizes(channels);
  const auto add = [&](std::size_t channel, float number) { sizes[channel] += std::fabs(number); };
  if (criterion == ChannelCriterion::batch_norm) {
    for (const ir::Parameter* scale : group.scales) {
      for_each_number(session.parameter(scale->name()), 0, add);
    }
    return group.scales.empty() ? std::vector<double>{} : sizes;
  }
  std::vector<std::vector<float>> filters(channels);
  for (const Producer& producer : group.producers) {
    const Tensor weight = session.parameter(producer.parameter->name());
    if (criterion == ChannelCriterion::l1) {
      for_each_number(weight, producer.axis, add);
    } else {
      for_each_number(weight, producer.axis, [&](std::size_t channel, float number) {
        filters[channel].push_back(number);
      });
    }
  }
  if (criterion == ChannelCriterion::l1) return sizes;
  for (std::size_t a = 0; a < channels; ++a) {
    for (std::size_t b = a + 1; b < channels; ++b) {
      double squares = 0;
      for (std::size_t i = 0; i < filters[a].size(); ++i) {
        const double d = static_cast<double>(filters[a][i]) - static_cast<double>(filters[b][i]);
        squares += d * d;
      }
      sizes[a] += std::sqrt(squares);
      sizes[b] += std::sqrt(squares);
    }
  }
  return sizes;
}

// The channels that stay, ascending. Of equal sizes the first go, and those of NaN last.
Indices kept_channels(const std::vector<double>& sizes, double ratio) {
  Indices order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::int64_t i) {
    const double size = sizes[static_cast<std::size_t>(i)];
    return std::pair(std::isnan(size) ? std::numeric_limits<double>::infinity() : size, i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); });
  const double share = ratio * static_cast<double>(sizes.size());
  const auto gone = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(std::floor(share + 1e-9)),
                                             std::ssize(order) - 1);
  order.erase(order.begin(), order.begin() + gone);
  std::sort(order.begin(), order.end());
  return order;
}

// The elements of an axis that stay.
Indices expanded(const Indices& channels, std::int64_t inner) {
  Indices all;
  for (const std::int64_t channel : channels) {
    for (std::int64_t i = 0; i < inner; ++i) all.push_back(channel * inner + i);
  }
  return all;
}

Tensor selected(const Tensor& from, int axis, const Indices& indices) {
  std::vector<std::int64_t> shape = from.shape();
  std::int64_t inner = static_cast<std::int64_t>(size_of(from.dtype())), outer = 1;
  for (int i = axis + 1; i < from.rank(); ++i) inner *= from.dim(i);
  for (int i = 0; i < axis; ++i) outer *= from.dim(i);
  const std::int64_t size = from.dim(axis);
  shape[static_cast<std::size_t>(axis)] = std::ssize(indices);
  Tensor made = Tensor::uninitialized(from.dtype(), shape);
  std::byte* to = made.bytes();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) {
      const std::byte* run = from.bytes() + (o * size + index) * inner;
      to = std::copy(run, run + inner, to);
    }
  }
  return made;
}

class ChannelPruning {
 public:
  ChannelPruning(ir::Program& program, Session& session)
      : program_(program), session_(session), axes_(program) {
    groups_ = free_groups(program, axes_);
  }

  // Groups with a weight that the options name, in the order of their first weights.
  std::vector<int> chosen(const ChannelOptions& options) const {
    std::vector<int> found;
    for (const auto& [number, group] : groups_) {
      const bool named = std::any_of(
          group.producers.begin(), group.producers.end(), [&](const Producer& producer) {
            return std::any_of(options.parameters.begin(), options.parameters.end(),
                               [&](const std::string& pattern) {
                                 return ir::matches(pattern, producer.parameter->name());
                               });
          });
      if (named) found.push_back(number);
    }
    if (found.empty()) {
      throw Error(ErrorKind::not_found,
                  "prune_channels: no channels of the weights can be removed\n"
                  "  hint   channels of the outputs and of convolutions with groups stay");
    }
    std::sort(found.begin(), found.end(), [&](int a, int b) {
      const auto place = [&](int number) {
        return groups_.at(number).producers[0].parameter->value->index;
      };
      return place(a) < place(b);
    });
    return found;
  }

  ChannelGroup prune(int number, const ChannelOptions& options) {
    const Group& group = groups_.at(number);
    ChannelGroup report{{}, group.channels, group.channels};
    for (const Producer& producer : group.producers) {
      report.weights.push_back(producer.parameter->name());
    }
    const std::vector<double> sizes = sizes_of(group, session_, options.criterion);
    if (sizes.empty()) return report;
    kept_[number] = kept_channels(sizes, options.ratio);
    report.after = std::ssize(kept_[number]);
    return report;
  }

  // Changes the types of all values, and checks the Program.
  void apply() {
    for (const auto& parameter : program_.parameters()) {
      Tensor value = session_.parameter(parameter->name());
      Shape& shape = parameter->value->type.shape;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const Indices* kept = nullptr;
        const auto place = axes_.place(parameter->value.get(), i);
        if (const auto found = kept_.find(place.group); found != kept_.end()) kept = &found->second;
        if (kept == nullptr) continue;
        value = selected(value, static_cast<int>(i), expanded(*kept, place.inner));
        // A list of first numbers would be too long.
        if (parameter->initializer.name == "values") parameter->initializer = {};
      }
      values_.emplace(parameter->name(), value);
    }
    for (const auto& parameter : program_.parameters()) resize(*parameter->value);
    for (const auto& op : program_.main().ops) {
      for (const auto& result : op->results) resize(*result);
      if (op->results.size() == 1 && op->blocks.empty() && has_attribute(op->attributes, "shape")) {
        set_attribute(op->attributes, "shape", op->result()->type.shape);
      }
    }
    ir::verify(program_);
  }

  const std::map<std::string, Tensor>& values() const { return values_; }

 private:
  void resize(ir::Value& value) const {
    for (std::size_t i = 0; i < value.type.shape.size(); ++i) {
      const auto place = axes_.place(&value, i);
      const auto found = kept_.find(place.group);
      if (found == kept_.end()) continue;
      value.type.shape[i] = Dim(std::ssize(found->second) * place.inner);
    }
  }

  ir::Program& program_;
  Session& session_;
  ChannelGroups axes_;
  std::map<int, Group> groups_;
  std::map<int, Indices> kept_;
  std::map<std::string, Tensor> values_;
};

void check(const std::vector<Value>& outputs, double ratio) {
  if (outputs.empty()) fail_usage("prune_channels: there are no outputs");
  if (!(ratio >= 0 && ratio < 1)) {
    fail_usage(fmt::format("prune_channels: ratio is {}; it is in [0, 1)", ratio));
  }
}

// `only`: the place of one group among the chosen ones; empty: all.
ChannelModel pruned(const Program& program, Session& session, const std::vector<Value>& outputs,
                    const ChannelOptions& options, std::optional<std::size_t> only) {
  check(outputs, options.ratio);
  std::shared_ptr<ir::Program> copy = network_program("prune_channels", program, outputs);
  ChannelPruning pruning(*copy, session);
  std::vector<ChannelGroup> groups;
  const std::vector<int> chosen = pruning.chosen(options);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!only || *only == i) groups.push_back(pruning.prune(chosen[i], options));
  }
  pruning.apply();
  ChannelModel result{Program(copy), Session(Program(copy), session.options()), std::move(groups)};
  for (const auto& [name, value] : pruning.values()) {
    result.session.set_parameter(name, value);
    result.parameters += value.elements();
  }
  return result;
}

}  // namespace

ChannelModel prune_channels(const Program& program, Session& session,
                            const std::vector<Value>& outputs, const ChannelOptions& options) {
  return pruned(program, session, outputs, options, std::nullopt);
}

std::vector<ChannelSensitivity> channel_sensitivity(
    const Program& program, Session& session, const std::vector<Value>& outputs,
    const std::vector<double>& ratios, const std::function<double(ChannelModel&)>& measure,
    const ChannelOptions& options) {
  for (const double ratio : ratios) check(outputs, ratio);
  check(outputs, options.ratio);
  std::shared_ptr<ir::Program> copy = network_program("channel_sensitivity", program, outputs);
  const std::size_t groups = ChannelPruning(*copy, session).chosen(options).size();
  std::vector<ChannelSensitivity> result;
  for (std::size_t i = 0; i < groups; ++i) {
    for (const double ratio : ratios) {
      ChannelOptions one = options;
      one.ratio = ratio;
      ChannelModel model = pruned(program, session, outputs, one, i);
      const double measured = measure(model);
      result.push_back({model.groups[0].weights, ratio, measured});
    }
  }
  return result;
}

}  // namespace trireme
