#include "compiler/control.h"

#include <algorithm>

#include "base/error.h"
#include "ir/recurrence.h"

namespace trireme::compiler {
namespace {

using plan::Control;

int integer(const ir::Op& op, const char* name) {
  return static_cast<int>(get_attribute<std::int64_t>(op.attributes, name));
}

// Returns the Plan of a block with the arguments of the block that the Plan still reads.
plan::Nested nested(const ir::Block& block, std::shared_ptr<const plan::Plan> plan) {
  plan::Nested result{std::move(plan), {}};
  for (const plan::Buffer& buffer : result.plan->buffers) {
    if (buffer.kind != plan::BufferKind::feed || buffer.alias_of >= 0) continue;
    const auto found =
        std::find_if(block.arguments.begin(), block.arguments.end(),
                     [&](const auto& argument) { return argument->name == buffer.name; });
    if (found == block.arguments.end())
      fail_internal("a block's Plan reads an unknown value " + buffer.name);
    result.arguments.push_back((*found)->index);
  }
  return result;
}

class RnnControl {
 public:
  explicit RnnControl(const ir::Op& op) : rnn_(op) {
    control_.kind = Control::Kind::rnn;
    control_.extra = 1;
    control_.carried = static_cast<int>(rnn_.states);
    control_.sequences = static_cast<int>(rnn_.sequences);
    control_.reverse = rnn_.reverse;
    control_.sizes.push_back({rnn_.dims.active.str()});
  }

  Control run() {
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      const ir::Type& type = rnn_.body.arguments[i]->type;
      const bool splits =
          type.rank() > 0 && rnn_.dims.is_inside(type.shape[0] - Dim(1)) && !type.splits_of.empty();
      const Dim rows = type.rank() == 0 ? Dim(0) : splits ? type.shape[0] - Dim(1) : type.shape[0];
      control_.argument_rows.push_back(size_of_rows(rows, rnn_.is_sequence(i)));
    }
    for (std::size_t i = 0; i < rnn_.body.results.size(); ++i) {
      const ir::Type& type = rnn_.body.results[i]->type;
      const Dim rows = type.rank() == 0 ? Dim(0) : type.shape[0];
      control_.result_rows.push_back(size_of_rows(rows, i >= rnn_.states));
    }
    return std::move(control_);
  }

 private:
  int size_of_rows(const Dim& rows, bool by_row) {
    if (!rnn_.dims.is_inside(rows)) return -1;
    const std::string symbol = rows.str();
    for (std::size_t i = 0; i < control_.sizes.size(); ++i) {
      if (control_.sizes[i].symbol == symbol) return static_cast<int>(i);
    }
    for (std::size_t i = 0; i < rnn_.body.arguments.size(); ++i) {
      const ir::Type& type = rnn_.body.arguments[i]->type;
      if (type.splits_of != symbol || rnn_.is_sequence(i) != by_row) continue;
      const int of = size_of_rows(type.shape[0] - Dim(1), by_row);
      control_.sizes.push_back({symbol, static_cast<int>(i), by_row, of});
      return static_cast<int>(control_.sizes.size()) - 1;
    }
    fail_internal("rnn: there are no splits of " + symbol);
  }

  const ir::Recurrence rnn_;
  Control control_;
};

}  // namespace

Control control_of(
    const ir::Op& op,
    const std::function<std::shared_ptr<const plan::Plan>(const ir::Block&)>& compile) {
  Control control;
  switch (op.def->control) {
    case ir::ControlFlow::cond:
      control.kind = Control::Kind::cond;
      control.extra = 1;
      break;
    case ir::ControlFlow::while_loop:
      control.kind = Control::Kind::while_loop;
      control.carried = integer(op, "carried");
      control.limit = get_attribute<std::int64_t>(op.attributes, "limit");
      break;
    case ir::ControlFlow::scan:
      control.kind = Control::Kind::scan;
      control.carried = integer(op, "carried");
      control.sequences = integer(op, "sequences");
      control.reverse = get_attribute<bool>(op.attributes, "reverse");
      control.length = get_attribute<Shape>(op.attributes, "length")[0];
      break;
    case ir::ControlFlow::packed_rnn: control = RnnControl(op).run(); break;
    case ir::ControlFlow::none:
    case ir::ControlFlow::rnn:  // schedule_rnns() makes packed_rnn of it
      fail_internal(op.name() + " holds blocks that cannot be run");
  }
  for (const auto& block : op.blocks) control.blocks.push_back(nested(*block, compile(*block)));
  return control;
}

}  // namespace trireme::compiler
