#include "compiler/widen.h"

namespace trireme::compiler {

using kernel_ir::BufferRole;
using kernel_ir::ExprId;
using kernel_ir::LoopKind;
using kernel_ir::Stmt;

LoweredGroup widen(int from, DType narrow, int to, const Dim& elements,
                   const codegen::Target& target) {
  constexpr std::int64_t kBlock = 4096;  // elements of one iteration
  LoweredGroup lowered;
  lowered.kernel = std::make_unique<kernel_ir::Kernel>();
  kernel_ir::Kernel& kernel = *lowered.kernel;
  kernel.name = "widen";
  kernel.buffers = {{narrow, BufferRole::input, "b0"}, {DType::f32, BufferRole::output, "b1"}};
  kernel.sizes = {elements.str()};
  kernel.loop_vars = 2;
  kernel_ir::Builder k(kernel);
  const ExprId total = k.size(0), block = k.integer(kBlock);
  const ExprId start = k.mul(k.loop_var(0), block), position = k.add(start, k.loop_var(1));
  Stmt store = kernel_ir::make_store(1, position, k.cast(k.load(0, position), DType::f32));
  Stmt vector = kernel_ir::make_loop(LoopKind::vector, 1, k.min(block, k.sub(total, start)),
                                     {std::move(store)}, target.lanes(DType::f32));
  const ExprId blocks = k.div(k.add(total, k.integer(kBlock - 1)), block);
  kernel.root = kernel_ir::make_loop(LoopKind::parallel, 0, blocks, {std::move(vector)});
  lowered.storages = {from, to};
  lowered.sizes = {elements};
  lowered.trip = {elements, kBlock};
  lowered.work = elements;
  return lowered;
}

}  // namespace trireme::compiler
