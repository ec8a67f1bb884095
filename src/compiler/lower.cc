#include "compiler/lower.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "compiler/contraction.h"
#include "compiler/lowering.h"
#include "compiler/segments.h"
#include "compiler/stages.h"

namespace trireme::compiler {
namespace {

using ir::Trait;
using kernel_ir::kNoExpr;
using kernel_ir::LoopKind;
using kernel_ir::Stmt;
using kernel_ir::StmtKind;

constexpr std::int64_t kBlock = 4096;  // elements of one iteration of a flat parallel loop
constexpr int kReductionUnroll = 4;
constexpr std::size_t kMaxUnrolledOps =
    8;  // with more ops, several vectors do not fit into registers

class GroupLowering : public KernelLowering {
 public:
  GroupLowering(const Group& group, const std::vector<Output>& outputs, const Storages& storages,
                const codegen::Target& target)
      : KernelLowering(group, outputs, storages, target),
        segments_(make_segments(group)),
        stages_(group, outputs) {}

  LoweredGroup run() {
    const bool reduces_rows = !segments_.empty() && segments_.back().reduced;
    if (group_.domain.block > 0) {
      lower_flat(group_.domain.block);
    } else if (!group_.domain.has_reduction) {
      segments_.size() <= 1 ? lower_flat(kBlock) : lower_map();
    } else if (reduces_rows || segments_.empty()) {
      lower_rows();
    } else {
      lower_columns();
    }
    return finish(product(group_.domain.shape) * Dim(weight()));
  }

 private:
  // Returns the cost of an element, relative to an element of a trivial kernel.
  std::int64_t weight() const {
    constexpr std::int64_t kTranscendental = 6, kCheapPerUnit = 8;
    std::int64_t costly = 0, cheap = 0;
    for (const ir::Op* op : group_.ops) {
      if (op->has(Trait::elementwise)) ++(op->has(Trait::cheap) ? cheap : costly);
    }
    return 1 + kTranscendental * costly + cheap / kCheapPerUnit;
  }

  bool is_full(const Output& output) const {
    return group_.domain.is_full(output.value->type.shape) && !is_reduction(output.value);
  }
  static bool is_reduction(const ir::Value* value) {
    return value->producer != nullptr && value->producer->has(Trait::reduction);
  }

  // --- Coordinates

  // Writes the coordinates of a segment, whose loop is at `position`, into `index`.
  void set_coordinates(const Segment& segment, ExprId position, Index& index) {
    const auto begin = group_.domain.shape.begin();
    const Shape shape(begin + static_cast<std::ptrdiff_t>(segment.first),
                      begin + static_cast<std::ptrdiff_t>(segment.last) + 1);
    const Index coordinates = evaluator_.delinear(position, shape);
    std::copy(coordinates.begin(), coordinates.end(),
              index.begin() + static_cast<std::ptrdiff_t>(segment.first));
  }

  // Splits `position`, a position in the product of the segments' extents, into coordinates.
  void set_all_coordinates(const std::vector<Segment>& segments, ExprId position, Index& index) {
    for (std::size_t i = segments.size(); i-- > 0;) {
      ExprId here = position;
      if (i > 0) {
        const ExprId extent = evaluator_.dim(segments[i].extent);
        here = k_.rem(position, extent);
        position = k_.div(position, extent);
      }
      set_coordinates(segments[i], here, index);
    }
  }

  static Dim extent_of(const std::vector<Segment>& segments) {
    Dim extent = 1;
    for (const Segment& segment : segments) extent = extent * segment.extent;
    return extent;
  }

  std::vector<Segment> segments_where(bool reduced) const {
    std::vector<Segment> result;
    for (const Segment& segment : segments_) {
      if (segment.reduced == reduced) result.push_back(segment);
    }
    return result;
  }

  Index row_of(const Index& index) const {
    Index row;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (!group_.domain.reduced[i]) row.push_back(index[i]);
    }
    return row;
  }

  Index empty_index() { return Index(group_.domain.shape.size(), k_.integer(0)); }

  // --- The four shapes of kernels

  // One long loop, split into blocks. Used if nothing is reduced and no op distinguishes
  // dimensions, or if every block is summed.
  void lower_flat(std::int64_t block) {
    const Dim total = product(group_.domain.shape);
    set_trip(total, block);
    evaluator_.set_row({root_var()});
    const std::vector<const ir::Op*>& sums = stages_.reductions(0);
    for (const ir::Op* op : sums) declare(kernel_->root.body, *op);
    const ExprId start = k_.mul(root_var(), k_.integer(block));
    Stmt vector =
        loop(LoopKind::vector, k_.min(k_.integer(block), k_.sub(evaluator_.dim(total), start)));
    if (!sums.empty() && group_.ops.size() <= kMaxUnrolledOps) vector.unroll = kReductionUnroll;
    const ExprId position = k_.add(start, k_.loop_var(vector.loop_var));
    const Index index = evaluator_.delinear(position, group_.domain.shape);
    for (const ir::Op* op : sums) accumulate(vector.body, *op, index);
    const auto is_sum = [&](const Output& output) { return !sums.empty() && !is_full(output); };
    for (const Output& output : outputs_) {
      if (!is_sum(output)) store_output(vector.body, output, index);
    }
    kernel_->root.body.push_back(std::move(vector));
    for (const ir::Op* op : sums) finish_reduction(*op);
    for (const Output& output : outputs_) {
      if (is_sum(output)) store_output(kernel_->root.body, output, {root_var()});
    }
  }

  // No reduction: the outer segments are one parallel loop, the last one is the vector loop.
  void lower_map() {
    const std::vector<Segment> outer(segments_.begin(), segments_.end() - 1);
    set_trip(extent_of(outer));
    Index index = empty_index();
    set_all_coordinates(outer, root_var(), index);
    Stmt vector = loop(LoopKind::vector, evaluator_.dim(segments_.back().extent));
    set_coordinates(segments_.back(), k_.loop_var(vector.loop_var), index);
    for (const Output& output : outputs_) store_output(vector.body, output, index);
    kernel_->root.body.push_back(std::move(vector));
  }

  // The last dimension is reduced: a parallel iteration is a row, and each stage is a pass over it.
  void lower_rows() {
    const std::vector<Segment> rows = segments_where(false);
    set_trip(extent_of(rows));
    Index index = empty_index();
    set_all_coordinates(rows, root_var(), index);
    evaluator_.set_row(row_of(index));
    allow_scratch_ = true;
    lower_stages(kernel_->root.body, index, LoopKind::vector);
    for (const Output& output : outputs_) {
      if (!is_full(output)) store_output(kernel_->root.body, output, output_index(output, index));
    }
  }

  // The last dimension is kept: its elements are lanes, and every lane reduces its column.
  void lower_columns() {
    std::vector<Segment> rows = segments_where(false);
    const Segment lanes = rows.back();
    rows.pop_back();
    const Dim outer = extent_of(rows);
    lanes_ = column_lanes(lanes.extent);
    const std::int64_t width = lanes_;
    const bool one_block = !lanes.extent.is_constant() && outer != Dim(1);
    Index index = empty_index();
    ExprId start = k_.integer(0), extent = evaluator_.dim(lanes.extent);
    if (one_block) {
      set_trip(outer);
      set_all_coordinates(rows, root_var(), index);
    } else {
      if (lanes.extent.is_constant()) {
        const std::int64_t blocks = (lanes.extent.constant() + width - 1) / width;
        set_trip(outer * Dim(blocks));
        set_all_coordinates(rows, k_.div(root_var(), k_.integer(blocks)), index);
        start = k_.mul(k_.rem(root_var(), k_.integer(blocks)), k_.integer(width));
      } else {
        set_trip(lanes.extent, width);
        start = k_.mul(root_var(), k_.integer(width));
      }
      extent = k_.min(k_.integer(width), k_.sub(extent, start));
    }
    Stmt vector = loop(LoopKind::vector, extent);
    set_coordinates(lanes, k_.add(start, k_.loop_var(vector.loop_var)), index);
    evaluator_.set_row(row_of(index));
    lower_stages(vector.body, index, LoopKind::serial);
    for (const Output& output : outputs_) {
      if (!is_full(output)) store_output(vector.body, output, output_index(output, index));
    }
    kernel_->root.body.push_back(std::move(vector));
  }

  // Several vectors at once compute independent sums, which hides the latency of additions.
  int column_lanes(const Dim& extent) const {
    int lanes = lanes_;
    while (lanes < 4 * lanes_ && 2 * lanes <= 64 &&
           (!extent.is_constant() || extent.constant() > lanes)) {
      lanes *= 2;
    }
    return lanes;
  }

  // Returns the coordinates of a row value, with or without the reduced dimensions.
  Index output_index(const Output& output, const Index& index) {
    if (output.value->type.shape.size() != group_.domain.shape.size() ||
        !group_.domain.has_reduction) {
      return row_of(index);
    }
    Index kept = index;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (group_.domain.reduced[i]) kept[i] = k_.integer(0);
    }
    return kept;
  }

  // --- Stages: passes over the reduced dimensions

  void lower_stages(std::vector<Stmt>& body, Index index, LoopKind innermost) {
    for (int stage = 0; stage < stages_.count(); ++stage) {
      for (const ir::Op* op : stages_.reductions(stage)) declare(body, *op);
      std::vector<Stmt> inside;
      const std::vector<Segment> reduced = segments_where(true);
      std::vector<Stmt> loops;
      for (const Segment& segment : reduced) {
        const bool last = &segment == &reduced.back();
        Stmt stmt = loop(last ? innermost : LoopKind::serial, evaluator_.dim(segment.extent));
        if (last && innermost == LoopKind::vector) stmt.unroll = unroll_of(segment, stage);
        set_coordinates(segment, k_.loop_var(stmt.loop_var), index);
        loops.push_back(std::move(stmt));
      }
      lower_stage(inside, index, stage);
      for (std::size_t i = loops.size(); i-- > 0;) {
        loops[i].body = std::move(inside);
        inside.clear();
        inside.push_back(std::move(loops[i]));
      }
      for (Stmt& stmt : inside) body.push_back(std::move(stmt));
      for (const ir::Op* op : stages_.reductions(stage)) finish_reduction(*op);
    }
  }

  int unroll_of(const Segment& segment, int stage) const {
    if (stages_.reductions(stage).empty()) return 1;
    const bool small =
        segment.extent.is_constant() && segment.extent.constant() < 2 * lanes_ * kReductionUnroll;
    return small ? 1 : kReductionUnroll;
  }

  void lower_stage(std::vector<Stmt>& body, const Index& index, int stage) {
    for (const ir::Value* value : stages_.kept(stage)) {
      if (allow_scratch_) keep(body, value, index);
    }
    for (const auto& [value, slot] : scratch_of_) {
      if (stages_.stage_of(value) < stage) reload(value, slot, index);
    }
    for (const ir::Op* op : stages_.reductions(stage)) accumulate(body, *op, index);
    if (stage + 1 < stages_.count()) return;
    for (const Output& output : outputs_) {
      if (is_full(output)) store_output(body, output, index);
    }
  }

  // Returns the position among the reduced dimensions.
  ExprId reduced_position(const Index& index) {
    Index coordinates;
    Shape shape;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (!group_.domain.reduced[i]) continue;
      coordinates.push_back(index[i]);
      shape.push_back(group_.domain.shape[i]);
    }
    return evaluator_.linear(coordinates, shape);
  }

  // Stores an expensive value that later stages need.
  void keep(std::vector<Stmt>& body, const ir::Value* value, const Index& index) {
    const int slot = scratch_buffer(value->type.dtype, extent_of(segments_where(true)));
    const ExprId position = reduced_position(index);
    body.push_back(kernel_ir::make_store(slot, position, evaluator_.value_at(value, index)));
    scratch_of_.push_back({value, slot});
  }

  void reload(const ir::Value* value, int slot, const Index& index) {
    evaluator_.set_known(value, index, k_.load(slot, reduced_position(index)));
  }

  void declare(std::vector<Stmt>& body, const ir::Op& op) {
    Stmt stmt;
    stmt.kind = StmtKind::declare;
    stmt.accumulator = kernel_->accumulators++;
    stmt.reduce = ops::Catalog::of(op).reduce;
    stmt.type = op.operands[0]->type.dtype;
    accumulator_of_[&op] = stmt.accumulator;
    body.push_back(stmt);
  }

  void accumulate(std::vector<Stmt>& body, const ir::Op& op, const Index& index) {
    Stmt stmt;
    stmt.kind = StmtKind::accumulate;
    stmt.accumulator = accumulator_of_.at(&op);
    stmt.reduce = ops::Catalog::of(op).reduce;
    stmt.type = op.operands[0]->type.dtype;
    stmt.value = evaluator_.value_at(op.operands[0], index);
    if (ops::Catalog::of(op).reduce_gives_index) {
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (group_.domain.reduced[i]) stmt.index = index[i];
      }
    }
    body.push_back(stmt);
  }

  // Makes the result of a reduction available as an expression after its loops.
  void finish_reduction(const ir::Op& op) {
    const ops::Op& def = ops::Catalog::of(op);
    const int accumulator = accumulator_of_.at(&op);
    ExprId result = kNoExpr;
    if (def.reduce_gives_index) {
      result = k_.accumulator_index(accumulator);
    } else {
      result = k_.accumulator(accumulator, op.operands[0]->type.dtype);
      if (def.finish) {
        const ExprId count =
            k_.cast(evaluator_.dim(extent_of(segments_where(true))), op.operands[0]->type.dtype);
        result = def.finish(k_, result, count);
      }
    }
    evaluator_.set_reduction(op.result(), result);
  }

  // Passes over a row have separate loop variables, so positions of different stages are equal
  // except for the names of the variables.
  int torch_name_of(int loop_var) const override {
    const int first = first_stage_var();
    const int per_stage = static_cast<int>(segments_where(true).size());
    if (first < 0 || loop_var < first || per_stage == 0) return loop_var;
    return first + (loop_var - first) % per_stage;
  }
  // Stage loops are numbered after the root, and after the vector loop of lower_columns().
  int first_stage_var() const {
    if (!group_.domain.has_reduction) return -1;
    return segments_.empty() || segments_.back().reduced ? 1 : 2;
  }

  std::vector<Segment> segments_;
  Stages stages_;
  bool allow_scratch_ = false;
  std::vector<std::pair<const ir::Value*, int>> scratch_of_;
  std::unordered_map<const ir::Op*, int> accumulator_of_;
};

}  // namespace

LoweredGroup lower_group(const Group& group, const std::vector<Output>& outputs,
                         const Storages& storages, const codegen::Target& target) {
  if (group.domain.contraction != nullptr) {
    return lower_contraction(group, outputs, storages, target);
  }
  return GroupLowering(group, outputs, storages, target).run();
}

}  // namespace trireme::compiler
