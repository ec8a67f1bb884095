#include <functional>

#include "functions.h"
#include "ir/program.h"
#include "transforms/autodiff.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/ops.h"

namespace trireme::edges {
namespace {

using Tensors = std::vector<Tensor>;
// Creates parameters, of which the first is the table, and looks something up in it.
using LookUp = std::function<Value(Program& program, DType dtype, const Value& index)>;

void append(std::vector<double>& to, const Tensor& tensor) {
  const Tensor wide = tensor.cast(DType::f64);
  to.insert(to.end(), wide.data<double>(), wide.data<double>() + wide.elements());
}

// Each row of x[0] has the numbers of a table, and the same row of x[1] the indices. Returns the
// results of each row, and the gradients of their weighted sum with respect to the table.
Tensors of_tables(const LookUp& look_up, const Tensors& x, const SessionOptions& options) {
  const DType dtype = x[0].dtype();
  const std::int64_t count = x[0].dim(0), width = x[1].dim(1);
  Program program("tables");
  const Value index = program.input("index", DType::i64, {width});
  const Value y = look_up(program, dtype, index);
  const Value weight = program.input("weight", dtype, y.shape());
  const auto& table = program.ir().parameters()[0];
  const Value gradient(transforms::gradients(sum(y * weight).get(), {table->value.get()})[0]);
  Session session(program, options);
  const std::vector<std::int64_t> shape = session.parameter(table->name()).shape();
  const Tensor weight_of_each = weights(dtype, evaluate(y.shape(), {}));
  std::vector<double> results, gradients;
  for (std::int64_t row = 0; row < count; ++row) {
    session.set_parameter(table->name(), x[0].rows(row, row + 1).reshaped(shape));
    const Tensors got = session.run(
        {{"index", x[1].rows(row, row + 1).reshaped({width})}, {"weight", weight_of_each}},
        {y, gradient}, {.training = true});
    append(results, got[0]);
    append(gradients, got[1]);
  }
  return {Tensor::from<double>({count, weight_of_each.elements()}, results).cast(dtype),
          Tensor::from<double>({count, x[0].dim(1)}, gradients).cast(dtype)};
}

// `torch` is a function of table and index. The table has `size` numbers.
void add(std::vector<Function>& all, const std::string& name, const std::string& torch,
         std::size_t size, const std::vector<std::vector<double>>& indices, const LookUp& look_up,
         const std::vector<DType>& dtypes = {DType::f32, DType::f64}) {
  all.push_back(
      {.name = name,
       .torch = "exact.tables(" + torch + ", *x)",
       .sources =
           [=](DType d) { return std::vector{rows(d, size), Source{indices, true, DType::i64}}; },
       .dtypes = dtypes,
       .compute = [=](const Tensors& x,
                      const SessionOptions& options) { return of_tables(look_up, x, options); }});
}

LookUp in_table(const Shape& shape, const std::function<Value(const Value&, const Value&)>& look) {
  return [=](Program& program, DType dtype, const Value& index) {
    return look(program.parameter("table", dtype, shape), index);
  };
}

constexpr double kFar = 9007199254740992.0;  // 2^53

// Indices out of range read the first or the last row. Those below 0 get no gradient from gather.
void add_gathers(std::vector<Function>& all) {
  const std::vector<std::vector<double>> places = {
      {0, 3, 0}, {1, 1, 1}, {-1, 4, -kFar}, {kFar, 2, 0}};
  add(all, "gather", "exact.gather", 4, places,
      in_table({4}, [](const Value& t, const Value& i) { return gather(t, i); }));
  add(all, "gather of rows", "lambda t, i: exact.gather(t.reshape(2, 2), i)", 4, places,
      in_table({2, 2}, [](const Value& t, const Value& i) { return gather(t, i); }));
  add(all, "gather along axis 1", "lambda t, i: exact.gather(t.reshape(2, 2).T, i).T", 4, places,
      in_table({2, 2}, [](const Value& t, const Value& i) { return gather(t, i, {.axis = 1}); }));
  add(all, "gather of nothing", "lambda t, i: t[i]", 4, {std::vector<double>{}},
      in_table({4}, [](const Value& t, const Value& i) { return gather(t, i); }));
  const std::vector<std::vector<double>> pairs = {
      {0, 0, 1, 1}, {1, 0, 1, 0}, {-1, 2, kFar, -kFar}, {0, 1, 1, 0}};
  add(all, "gather_nd", "lambda t, i: t.reshape(2, 2)[i[::2].clamp(0, 1), i[1::2].clamp(0, 1)]", 4,
      pairs, in_table({2, 2}, [](const Value& t, const Value& i) {
        return gather_nd(t, reshape(i, {.shape = {2, 2}}));
      }));
}

// The table has the updates.
void add_scatters(std::vector<Function>& all) {
  const std::vector<std::vector<double>> places = {{0, 2, 1, 0}, {1, 1, 1, 1}, {2, 2, 0, 0}};
  add(all, "scatter_add", "lambda t, i: torch.zeros(3).to(t).index_add(0, i, t)", 4, places,
      in_table({4},
               [](const Value& t, const Value& i) { return scatter_add(i, t, {.rows = {3}}); }));
  add(all, "scatter_add of rows",
      "lambda t, i: torch.zeros(3, 1).to(t).index_add(0, i, t.reshape(4, 1))", 4, places,
      in_table({4, 1},
               [](const Value& t, const Value& i) { return scatter_add(i, t, {.rows = {3}}); }));
  add(all, "scatter_add of nothing", "lambda t, i: torch.zeros(3).to(t).index_add(0, i, t)", 0,
      {std::vector<double>{}}, in_table({0}, [](const Value& t, const Value& i) {
        return scatter_add(i, t, {.rows = {3}});
      }));
  add(all, "scatter_add_nd",
      "lambda t, i: torch.zeros(2, 2).to(t).index_put((i[::2], i[1::2]), t, accumulate=True)", 2,
      {{0, 0, 1, 1}, {1, 0, 1, 0}, {0, 1, 0, 0}}, in_table({2}, [](const Value& t, const Value& i) {
        return scatter_add_nd(reshape(i, {.shape = {2, 2}}), t, {.shape = {2, 2}});
      }));
}

void add_embeddings(std::vector<Function>& all) {
  const std::vector<std::vector<double>> ids = {{0, 1, 0}, {1, 1, 1}, {0, 0, 0}};
  const auto embedding = [](const nn::EmbeddingOptions& options) {
    return [=](Program&, DType, const Value& index) { return nn::embedding(index, options); };
  };
  add(all, "embedding", "lambda t, i: F.embedding(i, t.reshape(2, 2))", 4, ids,
      embedding({.num_embeddings = 2, .dim = 2}), {DType::f32});
  add(all, "embedding with padding_row",
      "lambda t, i: torch.where((i == 1)[:, None], 0.0, t.reshape(2, 2)[i])", 4, ids,
      embedding({.num_embeddings = 2, .dim = 2, .padding_row = 1}), {DType::f32});
}

// exact.HIDDEN has the same numbers.
Value hidden(Program& program, DType dtype) {
  return program.parameter("hidden", dtype, {1, 2}, {.initializer = nn::values({1, -0.5})});
}

// The first index is the label; the others are the sampled classes, of three.
void add_sampled_losses(std::vector<Function>& all) {
  const std::vector<std::vector<double>> classes = {{0, 1, 2}, {2, 0, 0}, {1, 1, 0}, {1, 1, 1}};
  using Loss = Value (*)(const Value&, const Value&, const Value&, const Value&, nn::SampledOptions,
                         SourceLocation);
  const std::pair<const char*, Loss> losses[] = {{"sampled_softmax", &nn::sampled_softmax},
                                                 {"nce", &nn::nce}};
  const std::pair<const char*, nn::Sampler> samplers[] = {{"log_uniform", nn::Sampler::log_uniform},
                                                          {"uniform", nn::Sampler::uniform}};
  for (const auto& [name, loss] : losses) {
    for (const auto& [how, sampler] : samplers) {
      add(all, name, "exact." + std::string(name) + "('" + how + "')", 6, classes,
          [loss = loss, sampler = sampler](Program& program, DType dtype, const Value& index) {
            const Value table = program.parameter("table", dtype, {3, 2});
            const Value label = slice(index, {.starts = {0}, .limits = {1}});
            const Value drawn = slice(index, {.starts = {1}, .limits = {3}});
            return loss(hidden(program, dtype), label, table, {},
                        {.sampler = sampler, .candidates = drawn}, SourceLocation::current());
          });
    }
  }
  add(all, "hierarchical_softmax", "exact.hierarchical_softmax", 6, {{0}, {1}, {2}, {3}},
      [](Program& program, DType dtype, const Value& index) {
        const Value table = program.parameter("table", dtype, {3, 2});
        return nn::hierarchical_softmax(hidden(program, dtype), index, table, {});
      });
}

}  // namespace

std::vector<Function> table_functions() {
  std::vector<Function> all;
  add_gathers(all);
  add_scatters(all);
  add_embeddings(all);
  add_sampled_losses(all);
  return all;
}

}  // namespace trireme::edges
