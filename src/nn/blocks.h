#pragma once

// Builds blocks of control-flow ops.

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/builder.h"
#include "trireme/control.h"

namespace trireme::nn {

// A block under construction.
class Body {
 public:
  explicit Body(ir::Program& program)
      : program_(program), block_(program.make_block(program.builder().block())) {}

  Value add_argument(const ir::Type& type) {
    arguments.emplace_back(
        program_.add_argument(*block_, program_.unique_argument("carried"), type));
    return arguments.back();
  }

  template <class Build>
  void build(Build make) {
    const ir::Builder::BlockGuard guard(program_.builder(), *block_);
    for (const Value& value : make()) {
      if (!value) fail_usage("a block returns an empty Value");
      block_->results.push_back(value.get());
    }
  }

  ir::Block& block() { return *block_; }
  std::unique_ptr<ir::Block> take() { return std::move(block_); }

  Values arguments;

 private:
  ir::Program& program_;
  std::unique_ptr<ir::Block> block_;
};

Values results_of(const ir::Op& op);

// Turns the values that either block captures into arguments of both, and returns the values.
std::vector<ir::Value*> close_both(ir::Block& a, ir::Block& b);

// Appends an op with one or two blocks.
const ir::Op& append_blocks(ir::Program& program, const char* name,
                            std::vector<ir::Value*> operands, Attributes attributes, Body& first,
                            Body* second = nullptr);

// Appends a while_loop with this condition and body, which may capture values; `initial` are the
// carried values.
Values append_while(ir::Program& program, const Values& initial, Body& condition, Body& body,
                    std::int64_t limit);

}  // namespace trireme::nn
