// Compiled with -O3 -ffp-contract=off: vectors, and no fused operations, whose rounding would
// differ from one processor to the next.

#include "distributed/table/rules.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace trireme::distributed {
namespace {

#define TRIREME_ALWAYS [[gnu::always_inline]] inline

// m and v are the state's two parts; a rule with one uses m, where optimizer.h calls it v.
struct SgdRule {
  static constexpr int kParts = 0;
  TRIREME_ALWAYS static void step(const RuleNumbers& n, float& p, float&, float&, float g) {
    p -= n.rate * g;
  }
};

struct AdagradRule {
  static constexpr int kParts = 1;
  TRIREME_ALWAYS static void step(const RuleNumbers& n, float& p, float& v, float&, float g) {
    v += g * g;
    p -= n.rate * g / (std::sqrt(v) + n.epsilon);
  }
};

struct AdamRule {
  static constexpr int kParts = 2;
  TRIREME_ALWAYS static void step(const RuleNumbers& n, float& p, float& m, float& v, float g) {
    m = n.keep1 * m + n.add1 * g;
    v = n.keep2 * v + n.add2 * (g * g);
    p -= n.rate * m / (std::sqrt(v) * n.root + n.epsilon);
  }
};

struct FtrlRule {
  static constexpr int kParts = 2;
  TRIREME_ALWAYS static void step(const RuleNumbers& n, float& p, float& m, float& v, float g) {
    const float next_v = v + g * g;
    const float root = std::sqrt(next_v);
    m += g - (root - std::sqrt(v)) / n.rate * p;
    v = next_v;
    const float beyond = std::max(m - n.l1, 0.0f) + std::min(m + n.l1, 0.0f);
    p = -beyond / ((root + n.beta) / n.rate + n.l2);
  }
};

template <class Rule>
TRIREME_ALWAYS void step_all(const RuleNumbers& numbers, float* __restrict p, float* __restrict m,
                             float* __restrict v, const float* __restrict g, std::size_t width) {
  const RuleNumbers n = numbers;
  for (std::size_t i = 0; i < width; ++i) {
    float unused = 0;
    Rule::step(n, p[i], Rule::kParts > 0 ? m[i] : unused, Rule::kParts > 1 ? v[i] : unused, g[i]);
  }
}

// How weights are stored. Rows of halves are worked on in pieces that fit into the fastest cache.
struct Floats {
  static constexpr bool kInPlace = true;
  TRIREME_ALWAYS static void read(const std::byte* row, float* weights, std::size_t width) {
    std::memcpy(weights, row, width * sizeof(float));
  }
  TRIREME_ALWAYS static void write(const float* weights, std::byte* row, std::size_t width) {
    std::memcpy(row, weights, width * sizeof(float));
  }
};

struct Halves {
  static constexpr bool kInPlace = false;
  TRIREME_ALWAYS static void read(const std::byte* row, float* __restrict weights,
                                  std::size_t width) {
    const auto* const halves = reinterpret_cast<const std::uint16_t*>(row);
    for (std::size_t i = 0; i < width; ++i) weights[i] = to_float(F16{halves[i]});
  }
  TRIREME_ALWAYS static void write(const float* __restrict weights, std::byte* row,
                                   std::size_t width) {
    auto* const halves = reinterpret_cast<std::uint16_t*>(row);
    for (std::size_t i = 0; i < width; ++i) halves[i] = to_f16(weights[i]).bits;
  }
};

#ifdef __x86_64__
// The processor's own conversions, which give the same but for the payload of NaN.
struct FastHalves {
  static constexpr bool kInPlace = false;
  __attribute__((target("avx2,f16c"))) static void read(const std::byte* row, float* weights,
                                                        std::size_t width) {
    std::size_t i = 0;
    for (; i + 8 <= width; i += 8) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * i));
      _mm256_storeu_ps(weights + i, _mm256_cvtph_ps(halves));
    }
    Halves::read(row + 2 * i, weights + i, width - i);
  }
  __attribute__((target("avx2,f16c"))) static void write(const float* weights, std::byte* row,
                                                         std::size_t width) {
    std::size_t i = 0;
    for (; i + 8 <= width; i += 8) {
      const __m128i halves =
          _mm256_cvtps_ph(_mm256_loadu_ps(weights + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row + 2 * i), halves);
    }
    Halves::write(weights + i, row + 2 * i, width - i);
  }
};
#endif

constexpr std::size_t kPiece = 256;

TRIREME_ALWAYS void add_floats(const float* __restrict x, float* __restrict sum, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) sum[i] += x[i];
}

// body(weights, first, n) for pieces of a row's weights as floats, which are stored afterwards.
template <class Weights, class Body>
TRIREME_ALWAYS void change_row(std::byte* row, std::size_t width, const Body& body) {
  if constexpr (Weights::kInPlace) {
    body(reinterpret_cast<float*>(row), std::size_t{0}, width);
  } else {
    float weights[kPiece];
    for (std::size_t first = 0; first < width; first += kPiece) {
      const std::size_t n = std::min(kPiece, width - first);
      Weights::read(row + 2 * first, weights, n);
      body(weights, first, n);
      Weights::write(weights, row + 2 * first, n);
    }
  }
}

template <class Rule, class Weights>
TRIREME_ALWAYS void apply_row(const RuleNumbers& numbers, std::byte* row, float* state,
                              const float* gradient, std::size_t width) {
  change_row<Weights>(
      row, width, [&](float* p, std::size_t first, std::size_t n) __attribute__((always_inline)) {
        step_all<Rule>(numbers, p, state + first, state + width + first, gradient + first, n);
      });
}

template <class Weights>
TRIREME_ALWAYS void add_row(const float* delta, std::byte* row, std::size_t width) {
  change_row<Weights>(row, width,
                      [&](float* p, std::size_t first, std::size_t n)
                          __attribute__((always_inline)) { add_floats(delta + first, p, n); });
}

// The functions above for one target. A width of 16, the commonest, is a constant to the compiler.
#define TRIREME_TARGET(name, halves, attribute)                                                   \
  struct name {                                                                                   \
    using StoredHalves = halves;                                                                  \
    template <class Weights>                                                                      \
    attribute static void read(const std::byte* row, float* weights, std::size_t width) {         \
      if (width == 16) return Weights::read(row, weights, 16);                                    \
      Weights::read(row, weights, width);                                                         \
    }                                                                                             \
    template <class Weights>                                                                      \
    attribute static void write(const float* weights, std::byte* row, std::size_t width) {        \
      Weights::write(weights, row, width);                                                        \
    }                                                                                             \
    template <class Weights>                                                                      \
    attribute static void add(const float* delta, std::byte* row, std::size_t width) {            \
      add_row<Weights>(delta, row, width);                                                        \
    }                                                                                             \
    template <class Rule, class Weights>                                                          \
    attribute static void apply(const RuleNumbers& numbers, std::byte* row, float* state,         \
                                const float* gradient, std::size_t width) {                       \
      if (width == 16) return apply_row<Rule, Weights>(numbers, row, state, gradient, 16);        \
      apply_row<Rule, Weights>(numbers, row, state, gradient, width);                             \
    }                                                                                             \
    attribute static void sum(const float* x, float* to, std::size_t n) { add_floats(x, to, n); } \
  };
TRIREME_TARGET(Anywhere, Halves, )
#ifdef __x86_64__
TRIREME_TARGET(Avx2, FastHalves, __attribute__((target("avx2,f16c"))))
#endif

bool has_avx2() {
#ifdef __x86_64__
  static const bool has =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0;
  return has;
#else
  return false;
#endif
}

}  // namespace

RuleNumbers::RuleNumbers(const RowRule& rule, const UpdateStep& step)
    : rate(static_cast<float>(step.rate)),
      epsilon(static_cast<float>(rule.epsilon)),
      keep1(static_cast<float>(rule.beta1)),
      add1(static_cast<float>(1 - rule.beta1)),
      keep2(static_cast<float>(rule.beta2)),
      add2(static_cast<float>(1 - rule.beta2)),
      root(1),
      beta(static_cast<float>(rule.beta)),
      l1(static_cast<float>(rule.l1)),
      l2(static_cast<float>(rule.l2)) {
  if (rule.kind != RowRule::Kind::adam) return;
  const auto t = static_cast<double>(step.step);
  rate = static_cast<float>(step.rate / (1 - std::pow(rule.beta1, t)));
  root = static_cast<float>(1 / std::sqrt(1 - std::pow(rule.beta2, t)));
}

template <class Target>
RowLayout::Functions RowLayout::functions_for(RowRule::Kind kind, bool float16) {
  const auto of = [kind]<class Weights>() -> Functions {
    Functions functions = {Target::template read<Weights>, Target::template write<Weights>,
                           Target::template add<Weights>, Target::template apply<SgdRule, Weights>};
    switch (kind) {
      case RowRule::Kind::sgd: break;
      case RowRule::Kind::adagrad:
        functions.apply = Target::template apply<AdagradRule, Weights>;
        break;
      case RowRule::Kind::adam: functions.apply = Target::template apply<AdamRule, Weights>; break;
      case RowRule::Kind::ftrl: functions.apply = Target::template apply<FtrlRule, Weights>; break;
    }
    return functions;
  };
  return float16 ? of.template operator()<typename Target::StoredHalves>()
                 : of.template operator()<Floats>();
}

RowLayout::RowLayout(int width, const RowRule& rule, bool float16, bool vectors)
    : width_(static_cast<std::size_t>(width)),
      weight_bytes_(float16 ? (2 * width_ + 3) / 4 * 4 : 4 * width_),
      state_width_(static_cast<std::size_t>(state_width(rule, width))),
      rule_(rule),
      functions_(functions_for<Anywhere>(rule.kind, float16)) {
  static_cast<void>(vectors);  // where there is but one version
#ifdef __x86_64__
  if (vectors && has_avx2()) functions_ = functions_for<Avx2>(rule.kind, float16);
#endif
}

void RowLayout::reset_state(std::byte* row) const {
  float* const state = reinterpret_cast<float*>(row + weight_bytes_);
  std::fill_n(state, state_width_, 0.0f);
  if (rule_.kind == RowRule::Kind::adagrad || rule_.kind == RowRule::Kind::ftrl) {
    std::fill_n(state + (state_width_ - width_), width_, static_cast<float>(rule_.initial));
  }
}

void add_to(const float* x, float* sum, std::size_t n) {
#ifdef __x86_64__
  if (has_avx2()) return Avx2::sum(x, sum, n);
#endif
  Anywhere::sum(x, sum, n);
}

}  // namespace trireme::distributed
