#include "ops/layout.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "ops/index.h"

namespace trireme::ops {
namespace {

using Positions = std::vector<int>;

bool is_channels_last(const Attributes& attributes) {
  const auto& layout = get_attribute<std::string>(attributes, "layout");
  require(layout == "nchw" || layout == "nhwc", "unknown layout '" + layout + "'",
          "use \"nchw\" or \"nhwc\"");
  return layout == "nhwc";
}

bool holds(const Positions& positions, std::size_t i) {
  return std::find(positions.begin(), positions.end(), static_cast<int>(i)) != positions.end();
}

template <class T>
std::vector<T> first_to_last(const std::vector<T>& v) {
  std::vector<T> result(v);
  std::rotate(result.begin() + 1, result.begin() + 2, result.end());
  return result;
}
template <class T>
std::vector<T> last_to_first(const std::vector<T>& v) {
  std::vector<T> result(v);
  std::rotate(result.begin() + 1, result.end() - 1, result.end());
  return result;
}

Type with_layout(Type type, bool to_last) {
  if (type.rank() >= 3)
    type.shape = to_last ? first_to_last(type.shape) : last_to_first(type.shape);
  return type;
}

// Returns the permutation for transpose() that converts an image to the other layout.
std::vector<std::int64_t> permutation(const Value& image, bool to_last) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(image.rank()));
  std::iota(order.begin(), order.end(), 0);
  return to_last ? first_to_last(order) : last_to_first(order);
}

TypeRule both_types(TypeRule rule, Positions operands, Positions results) {
  return [=](const TypeContext& c) {
    if (!is_channels_last(c.attributes)) return rule(c);
    std::vector<Type> types = c.operands;
    for (const int i : operands) {
      types[static_cast<std::size_t>(i)] = with_layout(types[static_cast<std::size_t>(i)], false);
    }
    std::vector<Type> types_of_results = rule(TypeContext{types, c.attributes, c.operand_texts});
    for (const int i : results) {
      types_of_results[static_cast<std::size_t>(i)] =
          with_layout(types_of_results[static_cast<std::size_t>(i)], true);
    }
    return types_of_results;
  };
}

// Copies the elements of the image `from` into `to`, the same image in the other layout.
void copy_moved(const RefTensor& from, RefTensor& to, bool to_last) {
  for_each_index(from.shape, [&](const Index& index) {
    at(to, to_last ? first_to_last(index) : last_to_first(index)) = at(from, index);
  });
}

ReferenceRule both_references(ReferenceRule rule, Positions operands, Positions results) {
  return [=](const Reference& r) {
    if (!is_channels_last(r.op.attributes)) return rule(r);
    std::vector<std::unique_ptr<RefTensor>> images;
    Reference first{r.op, r.operands, r.results, r.run_seed, r.sizes};
    for (std::size_t i = 0; i < r.operands.size(); ++i) {
      if (!holds(operands, i)) continue;
      images.push_back(std::make_unique<RefTensor>(last_to_first(r.operands[i]->shape)));
      copy_moved(*r.operands[i], *images.back(), false);
      first.operands[i] = images.back().get();
    }
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      if (!holds(results, i)) continue;
      images.push_back(std::make_unique<RefTensor>(last_to_first(r.results[i]->shape)));
      first.results[i] = images.back().get();
    }
    rule(first);
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      if (holds(results, i)) copy_moved(*first.results[i], *r.results[i], true);
    }
  };
}

// The Lowering passed to a rule for [N, C, H, W]: converts indices to the actual layout.
class ChannelsFirst final : public Lowering {
 public:
  ChannelsFirst(Lowering& inner, const Positions& operands, bool result_is_image)
      : inner_(inner), operands_(operands), index_(inner.index().begin(), inner.index().end()) {
    if (result_is_image) index_ = last_to_first(index_);
  }
  Builder& k() override { return inner_.k(); }
  const ir::Op& op() const override { return inner_.op(); }
  int result() const override { return inner_.result(); }
  std::span<const ExprId> index() const override { return index_; }
  ExprId load(int operand, std::span<const ExprId> index, ExprId guard) override {
    std::vector<ExprId> place(index.begin(), index.end());
    if (holds(operands_, static_cast<std::size_t>(operand))) place = first_to_last(place);
    return inner_.load(operand, place, guard);
  }
  ExprId dim(const Dim& dim) override { return inner_.dim(dim); }
  ExprId linear(std::span<const ExprId> index, const Shape& shape) override {
    return inner_.linear(index, shape);
  }
  std::vector<ExprId> delinear(ExprId position, const Shape& shape) override {
    return inner_.delinear(position, shape);
  }
  ExprId run_seed() override { return inner_.run_seed(); }

 private:
  Lowering& inner_;
  const Positions& operands_;
  std::vector<ExprId> index_;
};

Lower both_lowerings(Lower rule, Positions operands, Positions results) {
  return [=](Lowering& l) {
    if (!is_channels_last(l.op().attributes)) return rule(l);
    ChannelsFirst first(l, operands, holds(results, static_cast<std::size_t>(l.result())));
    return rule(first);
  };
}

// The GradientContext passed to a rule for [N, C, H, W]: images are transposed to that layout.
class GradientChannelsFirst final : public GradientContext {
 public:
  GradientChannelsFirst(GradientContext& inner, const Positions& operands, const Positions& results)
      : inner_(inner), operands_(operands), results_(results) {}
  const ir::Op& op() const override { return inner_.op(); }
  Value operand(int i) const override { return first(inner_.operand(i), operands_, i); }
  Value result(int i) const override { return first(inner_.result(i), results_, i); }
  Value gradient(int i) const override { return first(inner_.gradient(i), results_, i); }
  bool has_gradient(int i) const override { return inner_.has_gradient(i); }
  bool needs_gradient(int i) const override { return inner_.needs_gradient(i); }
  void accumulate(int i, Value gradient) override {
    if (holds(operands_, static_cast<std::size_t>(i))) {
      gradient = transpose(gradient, {.permutation = permutation(gradient, true)});
    }
    inner_.accumulate(i, gradient);
  }
  // Rules of ops on images never call these.
  void accumulate_when(bool training, int i, Value gradient) override {
    inner_.accumulate_when(training, i, gradient);
  }
  void accumulate_rows(int i, Value rows, Value values) override {
    inner_.accumulate_rows(i, rows, values);
  }

 private:
  static Value first(Value image, const Positions& images, int i) {
    if (!holds(images, static_cast<std::size_t>(i))) return image;
    return transpose(image, {.permutation = permutation(image, false)});
  }
  GradientContext& inner_;
  const Positions& operands_;
  const Positions& results_;
};

}  // namespace

Type channels_first(const ir::Op& op, const Type& image) {
  return is_channels_last(op.attributes) ? with_layout(image, false) : image;
}

void serve_both_layouts(Op& op, std::vector<int> operands, std::vector<int> results) {
  op.type = both_types(op.type, operands, results);
  op.reference = both_references(op.reference, operands, results);
  if (op.lower) op.lower = both_lowerings(op.lower, operands, results);
  if (op.gradient) {
    op.gradient = [rule = op.gradient, operands, results](GradientContext& c) {
      if (!is_channels_last(c.op().attributes)) return rule(c);
      GradientChannelsFirst first(c, operands, results);
      rule(first);
    };
  }
  std::vector<Sample> last;
  for (const Sample& sample : op.samples) {
    Sample copy = sample;
    for (const int i : operands) {
      Type& type = copy.operands[static_cast<std::size_t>(i)];
      type = with_layout(type, true);
    }
    set_attribute(copy.attributes, "layout", std::string("nhwc"));
    last.push_back(std::move(copy));
  }
  op.samples.insert(op.samples.end(), last.begin(), last.end());
  op.image_operands = std::move(operands);
  op.image_results = std::move(results);
}

}  // namespace trireme::ops
