#include "compiler/pipeline.h"

#include <unordered_set>

#include "compiler/contraction.h"
#include "ir/blocks.h"
#include "ir/builder.h"
#include "transforms/channels_last.h"
#include "transforms/copy_old_values.h"
#include "transforms/cse.h"
#include "transforms/direct.h"
#include "transforms/duplicate_cheap_ops.h"
#include "transforms/prune.h"
#include "transforms/schedule_rnns.h"
#include "transforms/select_updates.h"
#include "transforms/simplify.h"
#include "transforms/specialise.h"
#include "transforms/split_reductions.h"
#include "transforms/thin_products.h"

namespace trireme::compiler {
namespace {

// Selects training or inference in all ops, also in nested blocks.
void specialize_all(ir::Program& program, bool training) {
  transforms::specialise(program, training);
  for (const auto& op : program.main().ops) {
    for (auto& block : op->blocks) {
      const std::unique_ptr<ir::Program> body = ir::as_program(*block);
      specialize_all(*body, training);
      std::unique_ptr<ir::Block> new_block = ir::as_block(*body, program.main());
      ir::prune(*new_block);
      new_block->owner = op.get();
      block = std::move(new_block);
    }
  }
}

void specialize(ir::Program& program, const PassContext& context) {
  specialize_all(program, context.options.training);
}

void prune(ir::Program& program, const PassContext& context) {
  transforms::prune(program, {.keep_side_effects = context.options.updates, .drop_inputs = true});
}

void drop_idle_assigns(ir::Program& program, const PassContext& context) {
  if (!context.options.update.empty()) transforms::drop_idle_assigns(program);
}

void use_direct_kernels(ir::Program& program, const PassContext& context) {
  const auto wanted = [&](const ir::Op& op) {
    return !context.options.libraries || generated_is_faster(op);
  };
  using Products = codegen::Target::Products;
  const Products products = context.target.products;
  transforms::use_direct_kernels(program, wanted,
                                 products == Products::pairs ? transforms::ByteForm::pairs
                                 : products == Products::unsigned_bytes
                                     ? transforms::ByteForm::unsigned_bytes
                                     : transforms::ByteForm::signed_bytes);
}

// Makes every fetch the result of its own op, so that some step writes it: copies inputs,
// parameters and values that are fetched twice.
void copy_fetches(ir::Program& program, const PassContext&) {
  ir::Builder b(program);
  std::unordered_set<const ir::Value*> seen;
  for (ir::Value*& result : program.main().results) {
    if (result->producer != nullptr && seen.insert(result).second) continue;
    const ir::Location location =
        result->producer != nullptr ? result->producer->location : ir::Location{};
    const ir::Builder::LocationGuard guard(b, location);
    result = b.reshape(result, result->type.shape);
  }
}

template <void (*transform)(ir::Program&)>
void plain(ir::Program& program, const PassContext&) {
  transform(program);
}

constexpr Pass kOptimization[] = {
    {"specialize", specialize, "Only the selected mode is optimized, and the other costs nothing."},
    {"drop_idle_assigns", drop_idle_assigns,
     "Needs the mode, and finds assigns of the whole Program: before work moves out of an rnn."},
    {"prune_other_mode", prune, "Moving work out of an rnn is not worth it for unused results."},
    {"copy_old_values", plain<transforms::copy_old_values>,
     "Before the passes that move reads of parameters; assigns of no use are gone."},
    {"schedule_rnns", plain<transforms::schedule_rnns>,
     "Work that leaves a loop becomes part of the main block, which the next passes optimize."},
    {"prune_rnns", prune, "Drops what only the replaced loops needed."},
    {"simplify", plain<transforms::simplify>,
     "The passes that choose kernels see fewer forms of one computation."},
    {"copy_simplified_reads", plain<transforms::copy_old_values>,
     "A product of a parameter and 1, for example, is a view of the parameter now."},
    {"thin_products", plain<transforms::widen_thin_products>,
     "Products with one column fuse as elementwise ops; before kernels are chosen for products."},
    {"channels_last", plain<transforms::use_channels_last>,
     "Direct convolutions need this layout."},
    {"direct_kernels", use_direct_kernels, "Needs the layout that is final now."},
    {"split_reductions", plain<transforms::split_reductions>,
     "After all passes that change the axes of reductions."},
    {"merge_equal", plain<transforms::merge_equal>,
     "Late, since the passes before make equal ops, such as transposes of one weight."},
    {"prune", prune, "Drops what the passes before have replaced."},
};

constexpr Pass kFusion[] = {
    {"duplicate_cheap_ops", plain<transforms::duplicate_cheap_ops>,
     "A cheap value that each user computes itself does not tie kernels together."},
    {"copy_fetches", copy_fetches, "Last, so that no pass removes the copies."},
};

}  // namespace

std::span<const Pass> optimization_passes() { return kOptimization; }
std::span<const Pass> fusion_passes() { return kFusion; }

void run_passes(std::span<const Pass> passes, ir::Program& program, const PassContext& context,
                Dump& dump) {
  for (const Pass& pass : passes) {
    pass.run(program, context);
#ifndef NDEBUG
    ir::verify(program);
#endif
    dump.program(pass.name, program);
  }
}

}  // namespace trireme::compiler
