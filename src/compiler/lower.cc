#include "compiler/lower.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/summation.h"
#include "compiler/contraction.h"
#include "compiler/lowering.h"
#include "compiler/segments.h"
#include "compiler/stages.h"

namespace trireme::compiler {
namespace {

using ir::Trait;
using kernel_ir::kNoExpr;
using kernel_ir::LoopKind;
using kernel_ir::ReduceOp;
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
    const int unroll = sums.empty() || group_.ops.size() > kMaxUnrolledOps ? 1 : kReductionUnroll;
    const bool partial = sums_f32(0) && block > kMaxAdditions * lanes_ * unroll;
    for (const ir::Op* op : sums) declare(kernel_->root.body, *op, partial);
    const ExprId start = k_.mul(root_var(), k_.integer(block));
    const ExprId extent = k_.min(k_.integer(block), k_.sub(evaluator_.dim(total), start));
    Loops loops;
    ExprId position = kNoExpr;
    if (partial) {
      position = add_block_loops(loops, LoopKind::vector, extent, kMaxAdditions * lanes_ * unroll);
    } else {
      loops.inner.push_back(loop(LoopKind::vector, extent));
      position = k_.loop_var(loops.inner.back().loop_var);
    }
    loops.inner.back().unroll = unroll;
    const Index index = evaluator_.delinear(k_.add(start, position), group_.domain.shape);
    std::vector<Stmt> inside;
    for (const ir::Op* op : sums) accumulate(inside, *op, index);
    const auto is_sum = [&](const Output& output) { return !sums.empty() && !is_full(output); };
    for (const Output& output : outputs_) {
      if (!is_sum(output)) store_output(inside, output, index);
    }
    close_loops(kernel_->root.body, std::move(loops), std::move(inside), sums);
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

  // The loops of a pass, each list from the outside in. Partial sums start inside `outer`.
  struct Loops {
    std::vector<Stmt> outer, inner;
  };

  void lower_stages(std::vector<Stmt>& body, Index index, LoopKind innermost) {
    for (int stage = 0; stage < stages_.count(); ++stage) {
      const std::vector<const ir::Op*>& reductions = stages_.reductions(stage);
      const bool partial = sums_f32(stage) && !is_short(stage, innermost);
      for (const ir::Op* op : reductions) declare(body, *op, partial);
      Loops loops = open_loops(stage, innermost, partial, index);
      std::vector<Stmt> inside;
      lower_stage(inside, index, stage);
      close_loops(body, std::move(loops), std::move(inside), reductions);
      for (const ir::Op* op : reductions) finish_reduction(*op);
    }
  }

  // One loop over a reduced segment.
  struct Pass {
    Segment segment;
    LoopKind kind;
    int unroll;
    std::int64_t step;  // elements between two that are added to the same f32 number
  };

  // Returns the loops of a stage from the outside in.
  std::vector<Pass> passes(int stage, LoopKind innermost) const {
    std::vector<Pass> result;
    for (const Segment& segment : segments_where(true)) {
      result.push_back({segment, LoopKind::serial, 1, 1});
    }
    if (result.empty() || innermost != LoopKind::vector) return result;
    Pass& last = result.back();
    last.kind = LoopKind::vector;
    last.unroll = unroll_of(last.segment, stage);
    last.step = std::int64_t{lanes_} * last.unroll;
    return result;
  }

  // Whether the whole loop, with `additions` inside, makes at most kMaxAdditions additions.
  static bool fits(const Pass& pass, std::int64_t additions) {
    return pass.segment.extent.is_constant() &&
           pass.segment.extent.constant() <= kMaxAdditions / additions * pass.step;
  }
  static std::int64_t additions_of(const Pass& pass) {
    return std::max<std::int64_t>(1, (pass.segment.extent.constant() + pass.step - 1) / pass.step);
  }

  bool is_short(int stage, LoopKind innermost) const {
    std::int64_t additions = 1;
    for (const Pass& pass : passes(stage, innermost)) {
      if (!fits(pass, additions)) return false;
      additions *= additions_of(pass);
    }
    return true;
  }

  // Makes the loops over the reduced segments and sets the coordinates. With partial sums, the
  // innermost loops that make at most kMaxAdditions additions are `inner`; the loop around them is
  // split in two.
  Loops open_loops(int stage, LoopKind innermost, bool partial, Index& index) {
    const std::vector<Pass> all = passes(stage, innermost);
    Loops loops;
    bool inner = partial;
    std::int64_t additions = 1;
    for (std::size_t i = all.size(); i-- > 0;) {
      const Pass& pass = all[i];
      const ExprId extent = evaluator_.dim(pass.segment.extent);
      const std::int64_t block = kMaxAdditions / additions * pass.step;
      const bool whole = inner && fits(pass, additions);
      ExprId position = kNoExpr;
      if (inner && !whole && block > 1) {
        position = add_block_loops(loops, pass.kind, extent, block);
        loops.inner.front().unroll = pass.unroll;
      } else {
        std::vector<Stmt>& list = whole ? loops.inner : loops.outer;
        list.insert(list.begin(), loop(pass.kind, extent));
        list.front().unroll = pass.unroll;
        position = k_.loop_var(list.front().loop_var);
      }
      if (whole) additions *= additions_of(pass);
      inner = whole;
      segment_of_[position] = pass.segment.first;
      set_coordinates(pass.segment, position, index);
    }
    return loops;
  }

  // Adds a loop over blocks of `block` positions and a loop over one block. Returns the position.
  ExprId add_block_loops(Loops& loops, LoopKind kind, ExprId extent, std::int64_t block) {
    const ExprId size = k_.integer(block);
    Stmt outer = loop(LoopKind::serial, k_.div(k_.add(extent, k_.integer(block - 1)), size));
    const ExprId start = k_.mul(k_.loop_var(outer.loop_var), size);
    const kernel_ir::Expr& all = kernel_->expr(extent);
    const bool whole = all.op == kernel_ir::ExprOp::constant && all.integer % block == 0;
    Stmt inner = loop(kind, whole ? size : k_.min(size, k_.sub(extent, start)));
    const ExprId position = k_.add(start, k_.loop_var(inner.loop_var));
    loops.outer.insert(loops.outer.begin(), std::move(outer));
    loops.inner.insert(loops.inner.begin(), std::move(inner));
    return position;
  }

  // Appends the loops around `inside` to `body`, and the partial sums of `reductions`.
  void close_loops(std::vector<Stmt>& body, Loops loops, std::vector<Stmt> inside,
                   const std::vector<const ir::Op*>& reductions) {
    wrap(loops.inner, inside);
    std::vector<Stmt> block;
    for (const ir::Op* op : reductions) {
      const Sum& sum = sums_.at(op);
      if (sum.partial < 0) continue;
      const ExprId partial = k_.cast(k_.accumulator(sum.partial, DType::f32), DType::f64);
      block.push_back(kernel_ir::make_declare(sum.partial, ReduceOp::sum, DType::f32));
      inside.push_back(kernel_ir::make_accumulate(sum.total, ReduceOp::sum, DType::f64, partial));
    }
    for (Stmt& stmt : inside) block.push_back(std::move(stmt));
    wrap(loops.outer, block);
    for (Stmt& stmt : block) body.push_back(std::move(stmt));
  }

  // Puts the loops around the statements.
  static void wrap(std::vector<Stmt>& loops, std::vector<Stmt>& inside) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      loops[i].body = std::move(inside);
      inside.clear();
      inside.push_back(std::move(loops[i]));
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

  static bool is_sum_f32(const ir::Op* op) {
    return ops::Catalog::of(*op).reduce == ReduceOp::sum &&
           op->operands[0]->type.dtype == DType::f32;
  }
  bool sums_f32(int stage) const {
    const std::vector<const ir::Op*>& ops = stages_.reductions(stage);
    return std::any_of(ops.begin(), ops.end(), is_sum_f32);
  }

  void declare(std::vector<Stmt>& body, const ir::Op& op, bool partial) {
    Sum& sum = sums_[&op];
    sum.type = op.operands[0]->type.dtype;
    sum.total = kernel_->accumulators++;
    if (partial && is_sum_f32(&op)) {
      sum.type = DType::f64;
      sum.partial = kernel_->accumulators++;
    }
    body.push_back(kernel_ir::make_declare(sum.total, ops::Catalog::of(op).reduce, sum.type));
  }

  void accumulate(std::vector<Stmt>& body, const ir::Op& op, const Index& index) {
    const Sum& sum = sums_.at(&op);
    ExprId position = kNoExpr;
    if (ops::Catalog::of(op).reduce_gives_index) {
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (group_.domain.reduced[i]) position = index[i];
      }
    }
    const ExprId value = evaluator_.value_at(op.operands[0], index);
    body.push_back(kernel_ir::make_accumulate(sum.partial >= 0 ? sum.partial : sum.total,
                                              ops::Catalog::of(op).reduce,
                                              op.operands[0]->type.dtype, value, position));
  }

  // Makes the result of a reduction available as an expression after its loops.
  void finish_reduction(const ir::Op& op) {
    const ops::Op& def = ops::Catalog::of(op);
    const Sum& sum = sums_.at(&op);
    ExprId result = kNoExpr;
    if (def.reduce_gives_index) {
      result = k_.accumulator_index(sum.total);
    } else {
      result = k_.accumulator(sum.total, sum.type);
      if (def.finish) {
        const ExprId count = k_.cast(evaluator_.dim(extent_of(segments_where(true))), sum.type);
        result = def.finish(k_, result, count);
      }
      result = k_.cast(result, op.operands[0]->type.dtype);
    }
    evaluator_.set_reduction(op.result(), result);
  }

  // Passes over a row have loop variables of their own, so positions of different passes are equal
  // if they are positions of the same segment.
  bool same_position(ExprId a, ExprId b) const override {
    const auto x = segment_of_.find(a), y = segment_of_.find(b);
    return x != segment_of_.end() && y != segment_of_.end() && x->second == y->second;
  }

  // The accumulators of a reduction. `partial` is -1 or a partial sum in f32.
  struct Sum {
    DType type = DType::f32;  // of `total`
    int total = -1, partial = -1;
  };

  std::vector<Segment> segments_;
  Stages stages_;
  bool allow_scratch_ = false;
  std::vector<std::pair<const ir::Value*, int>> scratch_of_;
  std::unordered_map<const ir::Op*, Sum> sums_;
  std::unordered_map<ExprId, std::size_t> segment_of_;  // first dimension, of reduced positions
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
