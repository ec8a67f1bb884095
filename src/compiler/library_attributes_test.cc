// Attributes of library ops in the compiled Plan.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "codegen/codegen.h"
#include "compiler/compile.h"
#include "ops/op.h"

namespace trireme::compiler {
namespace {

// All ops, and one like `sort` with attributes of all kinds.
class OpsAndSortBy : public ir::OpSet {
 public:
  OpsAndSortBy() : sort_by_(*ops::catalog().find("sort")) {
    sort_by_.signature =
        "sort_by(x; axis: int = -1, descending: bool = false, slope: float = 0.5, "
        "slopes: floats = [0.25, 2], extent: ints = [3, 4], mode: string = \"stable\", "
        "to: dtype = f64, size: shape = [2, batch]) -> values, indices";
    ir::parse_signature(sort_by_);
  }
  const ir::OpDef* find(std::string_view name) const override {
    return name == sort_by_.name ? &sort_by_ : ops::catalog().find(name);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = ops::catalog().names();
    names.push_back(sort_by_.name);
    return names;
  }

 private:
  ops::Op sort_by_;
};

TEST(LibraryAttributes, AllKindsReachThePlan) {
  const OpsAndSortBy ops;
  ir::Program program("p", ops);
  ir::Value* const x = program.add_input("x", {f32, {4}, ""});
  const ir::Op& op =
      *program.append(program.main(), "sort_by", {x}, {{"axis", std::int64_t{0}}}, {});
  const auto interpreter = codegen::make_interpreter();
  const auto compiled = compile(program, {op.result(0)}, *interpreter, {});
  const plan::Step* step = nullptr;
  for (const plan::Step& each : compiled->steps) {
    if (each.library.kernel == "sort") step = &each;
  }
  ASSERT_NE(step, nullptr) << plan::print(*compiled);
  ASSERT_EQ(step->library.attributes.size(), op.attributes.size()) << plan::print(*compiled);
  for (std::size_t i = 0; i < op.attributes.size(); ++i) {
    const NamedAttribute& wanted = op.attributes[i];
    const NamedAttribute& found = step->library.attributes[i];
    EXPECT_EQ(found.name, wanted.name);
    EXPECT_EQ(kind_of(found.value), kind_of(wanted.value)) << wanted.name;
    EXPECT_EQ(print_attribute(found.value), print_attribute(wanted.value)) << wanted.name;
  }
}

}  // namespace
}  // namespace trireme::compiler
