#include "session/compress/unpack.h"

#include <numeric>

#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::compression {
namespace {

constexpr std::int64_t kWord = 32;

Value iota_of(const Program& program, std::int64_t size) {
  return iota(program, {.shape = {1, 1, size}, .axis = 2, .dtype = DType::u32});
}

// The number of bits that are 1 in each word, as 4 bytes of at most 8: "Hacker's Delight", 2nd ed.,
// section 5-1.
Value bits_of_bytes(const Value& words) {
  const Value pairs = words - bitwise_and(shift_right(words, 1.0), 0x55555555p0);
  const Value fours =
      bitwise_and(pairs, 0x33333333p0) + bitwise_and(shift_right(pairs, 2.0), 0x33333333p0);
  return bitwise_and(fours + shift_right(fours, 4.0), 0x0f0f0f0fp0);
}

Value popcount(const Value& words) {
  return shift_right(bits_of_bytes(words) * 0x01010101p0, 24.0);
}

// Packs signs [rows, in] to words [rows, words].
Value words_of_signs(const Value& source, std::int64_t words) {
  const Program program = Program::of(source);
  const std::int64_t in = source.dim(1).constant();
  const Value bits = cast(source >= 0.0, {.dtype = DType::u32});
  const Value whole = pad(bits, {.low = {0, 0}, .high = {0, words * kWord - in}});
  const Value grouped = reshape(whole, {.shape = {source.dim(0), words, kWord}});
  return sum(shift_left(grouped, iota_of(program, kWord)), {.axes = {2}});
}

}  // namespace

PackedParameters add_parameters(Program& program, const std::string& name, const PackedTensor& p) {
  const ParameterOptions fixed{.trainable = false};
  const Shape words{p.units, p.words_of_unit()};
  const Shape table{static_cast<std::int64_t>(p.table.size())};
  PackedParameters made;
  made.words = program.parameter(name + ".packed", DType::u32, words, fixed);
  made.scales = program.parameter(name + ".scales", f32, {p.units}, fixed);
  made.table = program.parameter(name + ".table", f32, table, fixed);
  return made;
}

Value unpacked(const PackedParameters& from, const PackedTensor& p, const Shape& shape) {
  const Program program = Program::of(from.words);
  const std::int64_t words = p.words_of_unit(), codes = p.codes_of_word();
  const Value places = iota_of(program, codes) * static_cast<double>(p.bits);
  const Value shifted = shift_right(reshape(from.words, {.shape = {p.units, words, 1}}), places);
  const Value all = bitwise_and(shifted, static_cast<double>((1 << p.bits) - 1));
  const Value rows = slice(reshape(all, {.shape = {p.units, words * codes}}),
                           {.starts = {0, 0}, .limits = {p.units, p.rest}});
  const Value numbers = gather(from.table, cast(rows, {.dtype = i64}));
  const Value scaled = numbers * reshape(from.scales, {.shape = {p.units, 1}});
  if (p.axis < 0) return reshape(scaled, {.shape = shape});
  // The axis of the units, which is first now, moves back to its place.
  Shape moved = shape;
  moved.erase(moved.begin() + p.axis);
  moved.insert(moved.begin(), Dim(p.units));
  std::vector<std::int64_t> order(shape.size());
  for (std::size_t i = 0, next = 1; i < order.size(); ++i) {
    order[i] = static_cast<int>(i) == p.axis ? 0 : static_cast<std::int64_t>(next++);
  }
  return transpose(reshape(scaled, {.shape = moved}), {.permutation = order});
}

bool is_binary(const PackedTensor& p) {
  return p.table.size() == 2 && p.table[0] == -1 && p.table[1] == 1;
}

Value count_bits(const Value& source, const PackedParameters& from, const PackedTensor& p) {
  const std::int64_t words = p.words_of_unit();
  const Value x = words_of_signs(source, words);
  // Bits after the last element are 0 in both.
  const Value different = bitwise_xor(reshape(x, {.shape = {x.dim(0), 1, words}}),
                                      reshape(from.words, {.shape = {1, p.units, words}}));
  const Value count = cast(sum(popcount(different), {.axes = {2}}), {.dtype = f32});
  return (static_cast<double>(p.rest) - count * 2.0) * from.scales;
}

}  // namespace trireme::compression
