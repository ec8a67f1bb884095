#pragma once

// Puts rows of sequences in the order in which packed_rnn runs them, and back.

#include <vector>

#include "transforms/rewrite.h"

namespace trireme::transforms {

// The order for one structure of sequences. The op rnn_schedule computes it from the splits. All
// new ops are appended to the main block.
class TimeOrder {
 public:
  // `splits` are those of `rows`.
  TimeOrder(ir::Builder& b, ir::Value* splits);

  const Dim& rows() const { return rows_; }
  ir::Value* counts() const { return schedule_->result(0); }

  // Returns x [rows, ...] in the order of time. Does not reorder a value that the inverse has just
  // reordered, or one computed from it row by row. Rows that are gathered by ids are gathered in
  // this order.
  ir::Value* ordered(ir::Value* x);
  // Returns x [batch, ...] with the longest sequence first.
  ir::Value* sequences_ordered(ir::Value* x);
  ir::Value* restored(ir::Value* x);  // the inverses
  ir::Value* sequences_restored(ir::Value* x);
  // Returns x [batch, ...], longest first, as [rows, ...] in the order of time.
  ir::Value* spread(ir::Value* x);

  // For rows that are split further by `splits` [n + 1]: returns x, or the splits, with the n
  // sequences in the order of time (by_row) or longest first.
  ir::Value* split_ordered(ir::Value* x, ir::Value* splits, bool by_row);
  ir::Value* splits_ordered(ir::Value* splits, bool by_row);
  ir::Value* split_restored(ir::Value* x, ir::Value* splits, bool by_row);
  // For rows that `outer` splits: returns the splits of the next level in the new order of these
  // rows.
  ir::Value* inner_splits_ordered(ir::Value* splits, ir::Value* outer, bool by_row);
  // Composes two levels of splits, such as the words of all sentences of each text.
  ir::Value* joined(ir::Value* outer, ir::Value* inner);

 private:
  ir::Value* gathered(ir::Value* x, ir::Value* index);
  ir::Value* placed(ir::Value* rows);
  bool is_in_time(const ir::Value* x) const;
  // Returns `splits` without the last (from = 0) or the first (from = 1).
  ir::Value* part(ir::Value* splits, int from);
  ir::Value* lengths(ir::Value* splits);
  ir::Value* splits_from(ir::Value* lengths, const std::string& rows);
  ir::Value* reorder_sequences(ir::Value* x, ir::Value* from, ir::Value* to, ir::Value* order);

  ir::Builder& b_;
  ir::Value* splits_;
  Dim rows_;
  ir::Op* schedule_;
};

// Rewrites an op that adds rows by ids so that the order need not be restored. Returns the values
// that replace its results, or nullopt for other ops.
Replacement add_in_time(ir::Builder& b, const ir::Op& op);

}  // namespace trireme::transforms
