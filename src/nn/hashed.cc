// Layers whose numbers are shared by hashing.

#include <cmath>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "nn/windows.h"
#include "trireme/compression.h"
#include "trireme/functions.h"
#include "trireme/sequence.h"
#include "trireme/shorthand.h"

namespace trireme::nn {
namespace {

constexpr double kMaxSeed = 0x7fffffff;
constexpr int kMaxHashes = 64;

// The finalizer of MurmurHash3, on u32.
Value mixed(Value h) {
  h = bitwise_xor(h, shift_right(h, 16.0)) * 0x85ebca6bp0;
  h = bitwise_xor(h, shift_right(h, 13.0)) * 0xc2b2ae35p0;
  return bitwise_xor(h, shift_right(h, 16.0));
}

// On the host, for seeds.
std::uint32_t mixed(std::uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

// Hash function `index` of a layer, of keys of u32.
Value hashed(const Value& keys, std::int64_t seed, int index) {
  const std::uint32_t salt =
      mixed(static_cast<std::uint32_t>(seed) + 0x9e3779b9u * static_cast<std::uint32_t>(index + 1));
  return mixed(mixed(bitwise_xor(keys, static_cast<double>(salt))) + static_cast<double>(salt));
}

// A number in [0, buckets) of each hash, i64.
Value bucket_of(const Value& hash, std::int64_t buckets) {
  const Value product = cast(hash, {.dtype = DType::u64}) * static_cast<double>(buckets);
  return cast(shift_right(product, 32.0), {.dtype = i64});
}

// Both halves of 64 bits, as a key of 32.
Value key_of(const Value& ids) {
  const Value wide = cast(ids, {.dtype = i64});
  const Value low = cast(bitwise_and(wide, 0xffffffffp0), {.dtype = DType::u32});
  const Value high =
      cast(bitwise_and(shift_right(wide, 32.0), 0xffffffffp0), {.dtype = DType::u32});
  return bitwise_xor(low, mixed(high));
}

template <class Options>
void check_hashes(Layer& layer, const Options& options) {
  layer.require(options.hashes >= 1 && options.hashes <= kMaxHashes,
                "hashes must be from 1 to " + std::to_string(kMaxHashes));
  layer.require(options.seed >= 0 && static_cast<double>(options.seed) <= kMaxSeed,
                "the seed must be from 0 to 2^31 - 1");
}

template <class Options>
void check_table(Layer& layer, const Value& ids, const Options& options) {
  layer.require(is_integer(ids.dtype()),
                "ids must be integers, not " + std::string(name_of(ids.dtype())),
                "cast(ids, {.dtype = trireme::i64})");
  layer.require(options.num_buckets > 0 && options.num_buckets < (std::int64_t{1} << 31),
                "num_buckets must be from 1 to 2^31 - 1");
  layer.require(options.dim > 0, "dim must be above 0");
  check_hashes(layer, options);
  layer.require(options.combine == HashCombine::sum || options.dim % options.hashes == 0,
                std::to_string(options.dim) + " numbers cannot be divided into " +
                    std::to_string(options.hashes) + " rows",
                "dim must be a multiple of hashes, or the rows a sum");
}

// The table of a layer.
template <class Options>
Value add_table(Layer& layer, const Options& options) {
  const bool is_sum = options.combine == HashCombine::sum;
  const std::int64_t width = is_sum ? options.dim : options.dim / options.hashes;
  const Initializer init =
      options.weight_init.value_or(normal(0, 1 / std::sqrt(static_cast<double>(options.dim))));
  return layer.parameter("weight", f32, {options.num_buckets, width}, init);
}

// The combined rows of keys of any shape.
template <class Options>
Value rows_of(const Value& table, const Value& keys, const Options& options) {
  std::vector<Value> rows;
  for (int i = 0; i < options.hashes; ++i) {
    const Value bucket = bucket_of(hashed(keys, options.seed, i), options.num_buckets);
    rows.push_back(gather(table, bucket, {.sparse_gradient = options.sparse_gradient}));
  }
  if (options.combine == HashCombine::concat && rows.size() > 1) return concat(rows, -1);
  Value total = rows[0];
  for (std::size_t i = 1; i < rows.size(); ++i) total = total + rows[i];
  return total;
}

// The numbers [cells] of one hash function, with their signs.
Value shared_numbers(const Value& weight, const Value& cells, std::int64_t seed, int index,
                     std::int64_t buckets) {
  const Value hash = hashed(cells, seed, index);
  // A second hash, so that the sign does not depend on the bucket.
  const Value sign_bit = bitwise_and(mixed(hash + 0x9e3779b9p0), 1.0);
  const Value sign = 1.0 - 2.0 * cast(sign_bit, {.dtype = weight.dtype()});
  return gather(weight, bucket_of(hash, buckets)) * sign;
}

}  // namespace

Value hashed_linear(const Value& x, HashedLinearOptions options, SourceLocation where) {
  Layer layer(x, "hashed_linear", options.name, where);
  layer.require(is_arithmetic_float(x.dtype()), "the input must be f32 or f64");
  layer.require(options.units > 0, "units must be at least 1", "{.units = 10}");
  layer.require(options.num_weights > 0 && options.num_weights < (std::int64_t{1} << 31),
                "num_weights must be from 1 to 2^31 - 1");
  layer.require(options.hidden >= 0, "hidden must not be negative");
  layer.require(x.rank() >= 2 && x.dim(-1).is_constant(),
                "the input needs an axis of features of constant size after the batch");
  check_hashes(layer, options);
  const std::int64_t in = x.dim(-1).constant();
  layer.require(in == 0 || options.units < (std::int64_t{1} << 32) / in,
                "the weight would have 2^32 numbers or more");
  const double gain = options.activation ? gain_of(options.activation) : 0;
  const double fan_in = static_cast<double>(in), fan_out = static_cast<double>(options.units);
  const double variance = options.activation ? gain * gain / std::max(fan_in, 1.0)
                                             : 2 / std::max(fan_in + fan_out, 1.0);
  const DType dtype = x.dtype();
  const Value weight =
      layer.parameter("weight", dtype, {options.num_weights},
                      options.weight_init.value_or(normal(0, std::sqrt(variance))));
  const Value cells = iota(Program::of(x), {.shape = {in * options.units}, .dtype = DType::u32});
  std::vector<Value> numbers;
  for (int i = 0; i < options.hashes; ++i) {
    numbers.push_back(shared_numbers(weight, cells, options.seed, i, options.num_weights));
  }
  Value whole = numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i) whole = whole + numbers[i];
  const double root = std::sqrt(static_cast<double>(options.hashes));
  if (options.hashes > 1) whole = whole * (1 / root);
  if (options.hidden > 0) {
    // The network starts small beside the sum, which keeps the first weights in their range.
    const Value mix =
        layer.parameter("mix", dtype, {options.hashes, options.hidden}, normal(0, 1 / root));
    const Value bias = layer.parameter("mix_bias", dtype, {options.hidden}, zeros());
    const Value out = layer.parameter("mix_out", dtype, {options.hidden, 1}, zeros());
    const Value parts = stack(numbers, 1) * (1 / std::sqrt(variance));
    const Value combined = matmul(trireme::tanh(matmul(parts, mix) + bias), out);
    whole = whole + reshape(combined, {.shape = {in * options.units}}) * std::sqrt(variance);
  }
  Value y = matmul(x, reshape(whole, {.shape = {in, options.units}}));
  if (options.bias) y = y + layer.parameter("bias", dtype, {options.units}, zeros());
  return options.activation ? options.activation(y, where) : y;
}

Value hashed_embedding(const Value& ids, HashedEmbeddingOptions options, SourceLocation where) {
  Layer layer(ids, "hashed_embedding", options.name, where);
  check_table(layer, ids, options);
  layer.require(options.hidden >= 0, "hidden must not be negative");
  const Value table = add_table(layer, options);
  const Value row = rows_of(table, key_of(ids), options);
  if (options.hidden == 0) return row;
  const auto weight = [&](const char* name, std::int64_t in, std::int64_t out, double gain) {
    return layer.parameter(name, f32, {in, out}, kaiming_uniform(gain));
  };
  // matmul() takes matrices and stacks of them.
  const Value rows = reshape(row, {-1, options.dim});
  const Value hidden =
      nn::relu(matmul(rows, weight("mix", options.dim, options.hidden, std::sqrt(2.0))) +
               layer.parameter("mix_bias", f32, {options.hidden}, zeros()));
  const Value made = matmul(hidden, weight("mix_out", options.hidden, options.dim, 1));
  return row + reshape(made, {.shape = row.shape()});
}

Value hashed_ngrams(const Value& ids, HashedNgramsOptions options, SourceLocation where) {
  Layer layer(ids, "hashed_ngrams", options.name, where);
  layer.require(ids.rank() == 1, "the ids must be the rows [rows] of sequences");
  layer.require(options.min_length >= 1 && options.min_length <= options.max_length &&
                    options.max_length <= 16,
                "lengths must be from 1 to 16, and min_length not above max_length");
  check_table(layer, ids, options);
  const Value table = add_table(layer, options);
  const Value keys = key_of(ids);
  const Value left = sequence::expand(sequence::lengths(ids), ids) - sequence::positions(ids);
  Value total, count;
  for (int length = 1; length <= options.max_length; ++length) {
    if (length < options.min_length) continue;
    // The hash of a window depends on the order of its ids and on its length.
    const Value windows = sequence::windows(cast(keys, {.dtype = i64}), length);
    Value key;
    for (int k = 0; k < length; ++k) {
      const Value column = slice(windows, {.starts = {0, k}, .limits = {windows.dim(0), k + 1}});
      const Value next = cast(reshape(column, {.shape = {ids.dim(0)}}), {.dtype = DType::u32});
      const Operand before =
          key ? Operand(key * 31.0)
              : Operand(static_cast<double>(mixed(static_cast<std::uint32_t>(length)) * 31u));
      key = mixed(bitwise_xor(next, before));
    }
    const Value is_whole = cast(left >= static_cast<double>(length), {.dtype = f32});
    const Value rows = rows_of(table, key, options);
    const Value sums = sequence::sum(rows * spread(is_whole, rows, {0}));
    const Value counts = sequence::sum(is_whole);
    total = total ? total + sums : sums;
    count = count ? count + counts : counts;
  }
  return total / spread(sqrt(maximum(count, 1.0)), total, {0});
}

}  // namespace trireme::nn
