// Matrix products, cut into tiles.
// gemm: a, b, [bias,] c. Attributes: transpose_a, transpose_b, has_bias; epilogue = "" or "relu".

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "kernels/call.h"
#include "kernels/families.h"
#include "kernels/product.h"

namespace trireme::kernels {

namespace {

constexpr const char* kName = "gemm";

struct Problem {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool shared_b = false;  // one b for the whole batch
  bool bias = false, relu = false;
  std::int64_t operations() const { return 2 * m * n * k; }  // of one product
};

// How one product is cut: into runs of rows of c, of columns of c, or of the summands of all of c.
// Cuts, and therefore results, do not depend on the number of threads.
struct Cut {
  enum class Along { rows, columns, summands };
  Along along = Along::rows;
  std::int64_t size = 0;  // rows, columns or summands of each tile but perhaps the last
  std::int64_t tiles = 0;
};

// The number of tiles, a power of two. A tile should take some 20 us at least; beyond a few tiles,
// larger ones waste less.
std::int64_t wanted_tiles(std::int64_t operations) {
  constexpr std::int64_t kMillion = 1'000'000;
  std::int64_t tiles = 1;
  while (tiles < 256) {
    const std::int64_t min = tiles < 2 ? 2 * kMillion : tiles < 16 ? 4 * kMillion : 32 * kMillion;
    if (operations / (2 * tiles) < min) break;
    tiles *= 2;
  }
  return tiles;
}

// A weight gradient is a sum over all rows of a batch with a small c. If c were cut, all tiles
// would read both operands, the slower the smaller they are. Instead each tile sums a part of the
// rows.
bool is_tall(const Problem& p) {
  constexpr std::int64_t kMinSummands = 2048, kLargestC = 512 * 1024;
  return p.transpose_a && p.batch == 1 && p.k >= kMinSummands && p.m * p.n <= kLargestC &&
         p.k >= 2 * std::max(p.m, p.n);
}

Cut cut_summands(const Problem& p) {
  constexpr std::int64_t kUnit = 512, kMin = 1024, kMaxTiles = 8;
  Cut cut{Cut::Along::summands, p.k, 1};
  const std::int64_t tiles = std::min(kMaxTiles, p.k / kMin);
  const std::int64_t even = (p.k + tiles - 1) / tiles;
  cut.size = (even + kUnit - 1) / kUnit * kUnit;
  cut.tiles = (p.k + cut.size - 1) / cut.size;
  return cut;
}

// Returns whether tiles are of rows or of columns, and the fewest that a tile should have. Every
// tile reads and packs all of one operand: b for a tile of rows, which costs most if b is large or
// transposed. Measured with oneDNN 2.6 and AVX-512, in GFLOP/s: a transposed b 2000 x 256 by rows
// of 72, 256 and 560: 55, 91 and 107, by columns of 128: 99; a transposed a 1120 x 256 by rows of
// 64: 108, by columns of 64 and 128: 82, 100.
std::pair<bool, std::int64_t> direction_of(const Problem& p) {
  constexpr std::int64_t kSmallB = 256 * 1024;  // elements: half of a level 2 cache
  bool by_rows = p.m >= p.n || p.k * p.n <= kSmallB;
  if (p.transpose_a) by_rows = p.m >= 128;
  if (p.transpose_b) by_rows = p.m >= std::max<std::int64_t>(512, p.n);
  if (!by_rows) return {false, p.transpose_a || p.transpose_b ? 128 : 64};
  return {true, p.transpose_b ? 256 : p.transpose_a ? 64 : 16};
}

Cut cut_of(const Problem& p) {
  if (is_tall(p)) return cut_summands(p);
  Cut cut;
  const auto [by_rows, min] = direction_of(p);
  if (!by_rows) cut.along = Cut::Along::columns;
  const std::int64_t extent = by_rows ? p.m : p.n;
  const std::int64_t unit = by_rows ? 8 : 16;
  const std::int64_t tiles = wanted_tiles(p.operations());
  const std::int64_t even = (extent + tiles - 1) / tiles;
  cut.size = tiles == 1 ? extent : std::max(min, (even + unit - 1) / unit * unit);
  cut.tiles = (extent + cut.size - 1) / cut.size;
  return cut;
}

template <class T>
class Gemm : public KernelInstance {
 public:
  explicit Gemm(const Problem& problem) : p_(problem) {
    if (p_.batch * p_.m * p_.n != 0) cut_ = cut_of(p_);
    constexpr std::int64_t kMinPerChunk = 2'000'000;
    const std::int64_t per_tile = p_.operations() / std::max<std::int64_t>(cut_.tiles, 1) + 1;
    grain_ = std::max<std::int64_t>(1, kMinPerChunk / per_tile);
    prepare_products();
  }

  std::size_t workspace_bytes(int) const override {
    if (cut_.along != Cut::Along::summands) return 0;
    return static_cast<std::size_t>((cut_.tiles - 1) * p_.m * p_.n) * sizeof(T);
  }

  void run(void* const* tensors, void* workspace, device::Device& device) override {
    const std::int64_t count = p_.batch * cut_.tiles;
    const auto* a = static_cast<const T*>(tensors[0]);
    const auto* b = static_cast<const T*>(tensors[1]);
    const auto* bias = p_.bias ? static_cast<const T*>(tensors[2]) : nullptr;
    auto* c = static_cast<T*>(tensors[p_.bias ? 3 : 2]);
    if (cut_.along == Cut::Along::summands) {
      run_summands(a, b, bias, c, static_cast<T*>(workspace), device);
      return;
    }
    device.run(count, grain_, count > 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) tile(i, a, b, bias, c);
    });
  }

 private:
  Product whole() const {
    return {p_.transpose_a,
            p_.transpose_b,
            p_.m,
            p_.n,
            p_.k,
            p_.transpose_a ? p_.m : p_.k,
            p_.transpose_b ? p_.k : p_.n,
            p_.n};
  }

  // The first tile's sums go to c, those of the others to `partial`, to be added in order.
  void run_summands(const T* a, const T* b, const T* bias, T* c, T* partial,
                    device::Device& device) const {
    const std::int64_t elements = p_.m * p_.n;
    device.run(cut_.tiles, grain_, cut_.tiles > 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        Product part = whole();
        const std::int64_t from = i * cut_.size;
        part.k = std::min(cut_.size, p_.k - from);
        multiply(part, a + from * (p_.transpose_a ? part.a_stride : 1),
                 b + from * (p_.transpose_b ? 1 : part.b_stride),
                 i == 0 ? c : partial + (i - 1) * elements);
      }
    });
    constexpr std::int64_t kMinRowElements = 8192;
    device.run(p_.m, std::max<std::int64_t>(1, kMinRowElements / p_.n), cut_.tiles > 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t t = 0; t + 1 < cut_.tiles; ++t) {
                   const T* other = partial + t * elements;
                   for (std::int64_t j = begin * p_.n; j < end * p_.n; ++j) c[j] += other[j];
                 }
                 Product rows = whole();
                 rows.m = end - begin;
                 finish(rows, bias, c + begin * p_.n);
               });
  }

  void tile(std::int64_t index, const T* a, const T* b, const T* bias, T* c) const {
    const std::int64_t product = index / cut_.tiles;
    const std::int64_t from = index % cut_.tiles * cut_.size;
    a += product * p_.m * p_.k;
    b += p_.shared_b ? 0 : product * p_.k * p_.n;
    c += product * p_.m * p_.n;
    Product part = whole();
    if (cut_.along == Cut::Along::rows) {
      part.m = std::min(cut_.size, p_.m - from);
      a += p_.transpose_a ? from : from * part.a_stride;
      c += from * p_.n;
    } else {
      part.n = std::min(cut_.size, p_.n - from);
      b += p_.transpose_b ? from * part.b_stride : from;
      c += from;
      if (bias != nullptr) bias += from;
    }
    if (p_.k > 0) {
      multiply(part, a, b, c);
    } else {
      for (std::int64_t i = 0; i < part.m; ++i) std::fill_n(c + i * p_.n, part.n, T{0});
    }
    finish(part, bias, c);
  }

  // Adds the bias to each row and cuts off what is negative, while the tile is in cache.
  void finish(const Product& part, const T* bias, T* c) const {
    if (bias == nullptr && !p_.relu) return;
    for (std::int64_t i = 0; i < part.m; ++i) {
      T* row = c + i * part.c_stride;
      if (bias == nullptr) {
        cut_negative(row, part.n);
      } else if (p_.relu) {
        add_and_cut(bias, row, part.n);
      } else {
        for (std::int64_t j = 0; j < part.n; ++j) row[j] += bias[j];
      }
    }
  }
  static void cut_negative(T* row, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] < T{0} ? T{0} : row[j];
  }
  static void add_and_cut(const T* bias, T* row, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
      const T sum = row[j] + bias[j];
      row[j] = sum < T{0} ? T{0} : sum;
    }
  }

  Problem p_;
  Cut cut_;
  std::int64_t grain_ = 1;
};

Problem read(const Call& call) {
  Problem p;
  p.transpose_a = flag(call, "transpose_a");
  p.transpose_b = flag(call, "transpose_b");
  p.bias = flag(call, "has_bias");
  const std::string epilogue = text(call, "epilogue");
  p.relu = epilogue == "relu";
  if (!p.relu && !epilogue.empty()) fail_call(kName, call, "there is no epilogue " + epilogue);
  require_tensors(kName, call, p.bias ? 4 : 3);
  const Sizes& a = call.tensors[0].shape;
  const Sizes& b = call.tensors[1].shape;
  const Sizes& c = call.tensors.back().shape;
  if (a.size() < 2 || b.size() < 2) fail_call(kName, call, "operands need two dimensions or more");
  const auto last = [](const Sizes& s, std::size_t i) { return s[s.size() - i]; };
  p.m = last(a, p.transpose_a ? 1 : 2);
  p.k = last(a, p.transpose_a ? 2 : 1);
  p.n = last(b, p.transpose_b ? 2 : 1);
  const Sizes leading(a.begin(), a.end() - 2);
  p.batch = elements(leading);
  p.shared_b = b.size() == 2;
  Sizes result = leading;
  result.insert(result.end(), {p.m, p.n});
  const bool same_batch = p.shared_b || Sizes(b.begin(), b.end() - 2) == leading;
  if (last(b, p.transpose_b ? 1 : 2) != p.k || !same_batch || c != result) {
    fail_call(kName, call, "the shapes do not fit");
  }
  if (p.bias && call.tensors[2].shape != Sizes{p.n}) fail_call(kName, call, "bias must be [n]");
  for (const TensorDescription& tensor : call.tensors) {
    if (tensor.dtype != call.tensors[0].dtype) fail_call(kName, call, "dtypes differ");
  }
  return p;
}

// A batch of a's rows times one b is one tall product.
void collapse(Problem& p) {
  if (!p.shared_b || p.transpose_a) return;
  p.m *= p.batch;
  p.batch = 1;
}

}  // namespace

std::unique_ptr<KernelInstance> prepare_gemm(const Call& call) {
  Problem p = read(call);
  collapse(p);
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  if (p.m > kMax || p.n > kMax || p.k > kMax) {
    fail_usage("a matrix product has a dimension of 2^31 or more; split the batch");
  }
  switch (call.tensors[0].dtype) {
    case DType::f32: return std::make_unique<Gemm<float>>(p);
    case DType::f64: return std::make_unique<Gemm<double>>(p);
    default: fail_call(kName, call, "only f32 and f64 are multiplied");
  }
}

}  // namespace trireme::kernels
