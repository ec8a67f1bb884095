// Linear models, and operators that prepare columns: the domain ai.onnx.ml.

#include "onnx/ops/classic.h"

#include <cmath>
#include <numbers>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {

std::vector<double> attribute_numbers(NodeContext& n, const std::string& name) {
  if (const AttributeProto* a = n.attribute(name + "_as_tensor"); a != nullptr && a->t)
    return n.importer().tensor(*a->t).cast(f64).to_vector<double>();
  const AttributeProto* a = n.attribute(name);
  if (a == nullptr) return {};
  if (a->t) return n.importer().tensor(*a->t).cast(f64).to_vector<double>();
  if (!a->ints_.empty()) return {a->ints_.begin(), a->ints_.end()};
  return {a->floats_.begin(), a->floats_.end()};
}

Value table(NodeContext& n, DType dtype, const std::vector<std::int64_t>& shape,
            const std::vector<double>& numbers) {
  Item item;
  item.type = element_type_of(dtype);
  item.known = Tensor::from(shape, numbers).cast(dtype);
  return n.importer().value_of(item);
}

Value float_input(NodeContext& n, std::size_t i) {
  const Value x = n.value(i);
  return x.dtype() == f64 || x.dtype() == f32 ? x : cast(x, f32);
}

namespace {

// The approximation of Winitzki 2008, "A handy approximation for the error function and its
// inverse", as ONNX Runtime has it.
Value inverse_erf(const Value& x) {
  constexpr double kA = 0.147;
  const Value log_part = log((1.0 - x) * (1.0 + x));
  const Value v = log_part * 0.5 + 2 / (std::numbers::pi * kA);
  return sign(x) * sqrt(sqrt(v * v - log_part / kA) - v);
}

// The softmax of the scores that are not 0; others stay 0.
Value softmax_of_others(const Value& scores) {
  const Value used = not_equal(scores, 0.0);
  const Value shift = reduce_max(scores, {.axes = {1}, .keep = true});
  const Value weights = where(used, exp(scores - shift), 0.0);
  const Value total = sum(weights, {.axes = {1}, .keep = true});
  return weights / where(equal(total, 0.0), 1.0, total);
}

std::int64_t count(std::size_t size) { return static_cast<std::int64_t>(size); }

}  // namespace

Value post_transform(NodeContext& n, const Value& scores, const std::string& name) {
  if (name == "NONE") return scores;
  if (name == "LOGISTIC") return sigmoid(scores);
  if (name == "SOFTMAX") return softmax(scores, 1);
  if (name == "SOFTMAX_ZERO") return softmax_of_others(scores);
  n.require(name == "PROBIT", "its post_transform is \"" + name + "\"");
  return std::numbers::sqrt2 * inverse_erf(scores * 2.0 - 1.0);
}

namespace {

// The attribute with the labels; null if there is none.
const AttributeProto* labels_of(NodeContext& n) {
  for (const char* name : {"classlabels_int64s", "classlabels_ints", "classlabels_strings"}) {
    const AttributeProto* a = n.attribute(name);
    if (a != nullptr && !(a->ints_.empty() && a->strings_.empty())) return a;
  }
  return nullptr;
}

}  // namespace

std::size_t count_labels(NodeContext& n) {
  const AttributeProto* a = labels_of(n);
  return a == nullptr ? 0 : a->ints_.size() + a->strings_.size();
}

void set_classes(NodeContext& n, const Value& index, const Value& scores) {
  n.set(1, scores);
  const AttributeProto* a = labels_of(n);
  if (a == nullptr || a->ints_.empty()) {
    n.set(0, index);
    if (a == nullptr || !n.wants(0)) return;
    std::string texts;
    for (const std::string& text : a->strings_) texts += (texts.empty() ? "" : ", ") + text;
    return n.importer().warn("the labels of " + n.node().type + " \"" + n.node().name +
                             "\" are texts: its output has their indices in [" + texts + "]");
  }
  const std::vector<double> labels(a->ints_.begin(), a->ints_.end());
  n.set(0, gather(table(n, i64, {count(labels.size())}, labels), index));
}

namespace {

// --- Columns -----------------------------------------------------------------------------------

// One number for all columns, or one for each.
Value per_column(NodeContext& n, const std::string& name, DType dtype) {
  const std::vector<double> numbers = attribute_numbers(n, name);
  return table(n, dtype, {count(numbers.size())}, numbers);
}

void import_scaler(NodeContext& n) {
  Value x = float_input(n, 0);
  if (n.attribute("offset") != nullptr) x = x - per_column(n, "offset", x.dtype());
  if (n.attribute("scale") != nullptr) x = x * per_column(n, "scale", x.dtype());
  n.set(0, cast(x, f32));
}

// MAX is the largest absolute value, as in scikit-learn and in the reference of ONNX.
void import_normalizer(NodeContext& n) {
  const Value x = float_input(n, 0);
  const std::string norm = n.text("norm", "MAX");
  Value size;
  if (norm == "L1") {
    size = sum(abs(x), {.axes = {-1}, .keep = true});
  } else if (norm == "L2") {
    size = sqrt(sum(x * x, {.axes = {-1}, .keep = true}));
  } else {
    n.require(norm == "MAX", "its norm is \"" + norm + "\"");
    size = reduce_max(abs(x), {.axes = {-1}, .keep = true});
  }
  n.set(0, cast(where(equal(size, 0.0), x, x / size), f32));
}

void import_binarizer(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, cast(x > n.number("threshold", 0), x.dtype()));
}

void import_feature_vectorizer(NodeContext& n) {
  std::vector<Value> columns;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    Value x = cast(n.value(i), f32);
    columns.push_back(x.rank() == 1 ? unsqueeze(x, 1) : x);
  }
  n.set(0, columns.size() == 1 ? columns[0] : concat(columns, {.axis = 1}));
}

void import_imputer(NodeContext& n) {
  const Value x = n.value(0);
  const bool floats = is_float(x.dtype());
  const char* name = floats ? "imputed_value_floats" : "imputed_value_int64s";
  n.require(n.attribute(name) != nullptr, std::string("its attribute ") + name + " is missing");
  const double replaced = floats ? n.number("replaced_value_float", 0)
                                 : static_cast<double>(n.integer("replaced_value_int64", 0));
  const Value missing = std::isnan(replaced) ? is_nan(x) : equal(x, replaced);
  n.set(0, where(missing, per_column(n, name, x.dtype()), x));
}

// Columns of the last axis; those of a vector become one row.
void import_array_feature_extractor(NodeContext& n) {
  const Value x = n.value(0);
  const Value wanted = cast(n.value(1), i64);
  const Value indices = reshape(wanted, {.shape = {product(wanted.shape())}});
  const Value y = gather(x, indices, {.axis = x.rank() - 1});
  n.set(0, x.rank() == 1 ? unsqueeze(y, 0) : y);
}

// --- Keys --------------------------------------------------------------------------------------

// Whether each element of x is each of these numbers, [..., keys]; NaN is NaN.
Value is_each(NodeContext& n, const Value& x, const std::vector<double>& keys) {
  const Value all = table(n, x.dtype(), {count(keys.size())}, keys);
  const Value wide = unsqueeze(x, x.rank());
  const Value same = equal(wide, all);
  return is_float(x.dtype()) ? logical_or(same, logical_and(is_nan(wide), is_nan(all))) : same;
}

// An attribute under one of several names, such as keys_int64s.
std::string given_name(NodeContext& n, const std::string& stem) {
  for (const char* kind : {"_int64s", "_floats", "_tensor"}) {
    if (n.attribute(stem + kind) != nullptr) return stem + kind;
  }
  n.fail("its " + stem + " are texts");
}

void import_label_encoder(NodeContext& n) {
  const Value x = n.value(0);
  const std::string from = given_name(n, "keys"), to = given_name(n, "values");
  const std::vector<double> keys = attribute_numbers(n, from), values = attribute_numbers(n, to);
  n.require(!keys.empty() && keys.size() == values.size(), "it has as many keys as values");
  DType dtype = to.ends_with("_int64s") ? i64 : f32;
  double otherwise = dtype == i64 ? static_cast<double>(n.integer("default_int64", -1))
                                  : n.number("default_float", -0.0);
  if (to.ends_with("_tensor")) {
    dtype = *carrier_of(n.attribute(to)->t->type);
    const std::vector<double> one = attribute_numbers(n, "default_tensor");
    if (!one.empty()) otherwise = one[0];
    else if (!is_float(dtype)) otherwise = -1;
  }
  const Value same = is_each(n, x, keys);
  const Value found = gather(table(n, dtype, {count(values.size())}, values),
                             argmax(cast(same, i32), {.axes = {-1}}));
  n.set(0, where(any(same, {.axes = {-1}}), found, otherwise));
}

void import_one_hot_encoder(NodeContext& n) {
  n.require(n.attribute("cats_int64s") != nullptr, "its categories are texts");
  n.set(0, cast(is_each(n, cast(n.value(0), i64), attribute_numbers(n, "cats_int64s")), f32));
}

// Maps of labels to scores are left out: the scores are the result.
void import_zip_map(NodeContext& n) {
  n.importer().warn("ZipMap \"" + n.node().name +
                    "\" is left out: its output is the array of scores, not maps");
  n.set(0, n.item(0));
}

// --- Linear models -----------------------------------------------------------------------------

}  // namespace

Value linear_scores(NodeContext& n, const std::string& intercepts) {
  const Value x = float_input(n, 0);
  const Value wide = x.rank() == 1 ? unsqueeze(x, 0) : x;
  const std::vector<double> numbers = attribute_numbers(n, "coefficients");
  n.require(wide.rank() == 2 && wide.dim(1).is_constant() && wide.dim(1).constant() > 0,
            "its input has no known number of columns");
  const std::int64_t columns = wide.dim(1).constant();
  n.require(!numbers.empty() && count(numbers.size()) % columns == 0,
            "it has no row of coefficients for its " + std::to_string(columns) + " columns");
  const std::int64_t targets = count(numbers.size()) / columns;
  Value y = matmul(wide, table(n, x.dtype(), {targets, columns}, numbers), {.transpose_b = true});
  const std::vector<double> bias = attribute_numbers(n, intercepts);
  if (bias.empty()) return y;
  n.require(count(bias.size()) == targets, "it has another number of intercepts");
  return y + table(n, x.dtype(), {targets}, bias);
}

namespace {

void import_linear_regressor(NodeContext& n) {
  const Value y =
      post_transform(n, linear_scores(n, "intercepts"), n.text("post_transform", "NONE"));
  n.set(0, cast(y, f32));
}

// One score for two classes is that of the second.
void import_linear_classifier(NodeContext& n) {
  const Value y = linear_scores(n, "intercepts");
  const std::string transform = n.text("post_transform", "NONE");
  if (y.dim(1) == Dim(1) && count_labels(n) == 2) {
    const Value both = concat({-y, y}, {.axis = 1});
    const Value second = cast(reshape(y, {.shape = {y.dim(0)}}) > 0.0, i64);
    return set_classes(n, second, cast(post_transform(n, both, transform), f32));
  }
  set_classes(n, argmax(y, {.axes = {1}}), cast(post_transform(n, y, transform), f32));
}

constexpr Operator kClassicOperators[] = {
    {kClassic, "ArrayFeatureExtractor", import_array_feature_extractor},
    {kClassic, "Binarizer", import_binarizer},
    {kClassic, "FeatureVectorizer", import_feature_vectorizer},
    {kClassic, "Imputer", import_imputer},
    {kClassic, "LabelEncoder", import_label_encoder},
    {kClassic, "LinearClassifier", import_linear_classifier},
    {kClassic, "LinearRegressor", import_linear_regressor},
    {kClassic, "Normalizer", import_normalizer},
    {kClassic, "OneHotEncoder", import_one_hot_encoder},
    {kClassic, "Scaler", import_scaler},
    {kClassic, "ZipMap", import_zip_map, {.takes_items = true}},
};

}  // namespace

Operators classic_operators() { return kClassicOperators; }

}  // namespace trireme::onnx
