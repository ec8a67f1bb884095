#pragma once

// Rows of sequences in the order in which packed_rnn runs through them, and back.

#include <optional>
#include <vector>

#include "ir/program.h"

namespace trireme::transforms {

// The order for one structure of sequences; made of its splits by the op rnn_schedule, at the end of the
// main block. Values that are made here stand there too.
class TimeOrder {
 public:
  // `splits` are those of `rows`; `like` says where new ops come from.
  TimeOrder(ir::Program& program, const ir::Op& like, ir::Value* splits);

  const Dim& rows() const { return rows_; }
  ir::Value* counts() const { return schedule_->result(0); }

  // x [rows, ...] in the order of time. Does not move what the inverse has just moved, nor what is
  // computed row by row of such; rows that are looked up by ids are looked up in this order.
  ir::Value* ordered(ir::Value* x);
  // x [batch, ...], the longest sequence first.
  ir::Value* sequences_ordered(ir::Value* x);
  ir::Value* restored(ir::Value* x);  // the inverses
  ir::Value* sequences_restored(ir::Value* x);
  // x [batch, ...], the longest first, as [rows, ...] in the order of time.
  ir::Value* spread(ir::Value* x);

  // Rows that are split further, by `splits` [n + 1]: x, or the splits, with the n sequences in the order
  // of time (by_row) or the longest first.
  ir::Value* split_ordered(ir::Value* x, ir::Value* splits, bool by_row);
  ir::Value* splits_ordered(ir::Value* splits, bool by_row);
  ir::Value* split_restored(ir::Value* x, ir::Value* splits, bool by_row);
  // Splits of rows that `outer` splits: those of the next level in the new order of these rows.
  ir::Value* inner_splits_ordered(ir::Value* splits, ir::Value* outer, bool by_row);
  // Splits of what `inner` splits by what `outer` does: of all words of a text, of its sentences and theirs.
  ir::Value* joined(ir::Value* outer, ir::Value* inner);

 private:
  ir::Value* make(std::string_view name, std::vector<ir::Value*> operands,
                  Attributes attributes = {});
  ir::Value* gathered(ir::Value* x, ir::Value* index);
  ir::Value* placed(ir::Value* rows);
  bool is_in_time(const ir::Value* x) const;
  ir::Value* part(ir::Value* splits, int from);  // splits without the last, or the first
  ir::Value* lengths(ir::Value* splits);
  ir::Value* splits_from(ir::Value* lengths, const std::string& rows);
  ir::Value* moved(ir::Value* x, ir::Value* from, ir::Value* to, ir::Value* order);

  ir::Program& program_;
  const ir::Op& like_;
  ir::Value* splits_;
  Dim rows_;
  ir::Op* schedule_;
};

// Additions to rows that are named by ids need no restored order: what stands for the results of such an op,
// or nothing if it is none.
std::optional<std::vector<ir::Value*>> add_in_time(ir::Program& program, const ir::Op& op);

}  // namespace trireme::transforms
