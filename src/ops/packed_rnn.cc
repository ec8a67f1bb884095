#include "ops/recurrence.h"

namespace trireme::ops {

Op packed_rnn() {
  Op op(
      "packed_rnn(counts, values...; active: shape, batch: shape, states: int, sequences: int, "
      "reverse: bool = false) -> results...");
  op.old_attributes = {{"memories", "states"}};
  op.doc =
      "rnn() on rows in the order of rnn_schedule(): by step, and within a step longest "
      "sequence first.\n"
      "`counts` [rows] is the number of sequences that have a row at each step.\n"
      "Memories and other values are in the order of the sequences.\n"
      "The compiler replaces rnn() with it.";
  op.traits = Trait::library | Trait::internal;
  op.control = ir::ControlFlow::packed_rnn;
  op.type = [](const TypeContext& c) {
    require(c.operands[0].dtype == DType::i64 && c.operands[0].rank() == 1,
            "packed_rnn needs i64 counts, not " + c.operand_texts[0]);
    const Shape& batch = get_attribute<Shape>(c.attributes, "batch");
    require(batch.size() == 1, "packed_rnn: `batch` must be one size");
    return recurrence_types(c, batch[0], c.operands[0].shape[0]);
  };
  op.no_torch_reason = "the compiler makes it from rnn; see rnn";
  return op;
}

}  // namespace trireme::ops
