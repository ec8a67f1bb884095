#pragma once

// Blocks of ops that run them again and again, while they are built.

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/blocks.h"
#include "trireme/control.h"

namespace trireme::nn {

// A block under construction.
class Body {
 public:
  explicit Body(ir::Program& program)
      : program_(program), block_(program.make_block(*program.insertion_block)) {}

  Value add_argument(const ir::Type& type) {
    arguments.emplace_back(
        program_.add_argument(*block_, program_.unique_argument("carried"), type));
    return arguments.back();
  }

  template <class Build>
  void build(Build make) {
    const ir::InsertionGuard guard(program_, *block_);
    for (const Value& value : make()) {
      if (!value) fail_usage("a block gives an empty Value");
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

// Closes two blocks that share what they read from outside; returns it.
std::vector<ir::Value*> close_both(ir::Block& a, ir::Block& b);

// Appends an op of these blocks, one after the other.
const ir::Op& append_blocks(ir::Program& program, const char* name,
                            std::vector<ir::Value*> operands, Attributes attributes, Body& first,
                            Body* second = nullptr);

// The loop of a condition and a body, neither of which is closed; `initial` are what it carries.
Values append_while(ir::Program& program, const Values& initial, Body& condition, Body& body,
                    std::int64_t limit);

}  // namespace trireme::nn
