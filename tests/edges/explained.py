"""Where Trireme differs from PyTorch on purpose. docs/reference/numerics.md states the rules."""

import fnmatch
import math

import torch

INFINITY = float("inf")


def numbers(x):
    """All numbers of the operands."""
    for operand in x:
        yield from operand if isinstance(operand, list) else [operand]


def has_nan(x, got, expected):
    return any(math.isnan(v) for v in numbers(x))


def not_finite(x, got, expected):
    return any(not math.isfinite(v) for v in numbers(x))


def huge(x, got, expected):
    """Squares or sums of the operands overflow."""
    return any(abs(v) > 1e18 for v in numbers(x))


def tiny(x, got, expected):
    return any(0 < abs(v) < 1e-18 for v in numbers(x))


def both_zero(x, got, expected):
    return got == 0 == expected


def close(value, relative=1e-5):
    """Whether Trireme's number is `value`, a formula of x."""
    def check(x, got, expected):
        wanted = value(*x)
        return abs(got - wanted) <= relative * abs(wanted) + 1.2e-38
    return check


def saturated(x, got, expected):
    """A float cast to an integer type that cannot hold it."""
    if math.isnan(x[0]):
        return got == 0
    return any(not low <= x[0] <= high and got == float(min(max(x[0], low), high))
               for low, high in ((0, 255), (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)))


def within(error):
    """An absolute error, where the result is a difference of numbers of about 1."""
    return lambda x, got, expected: abs(got - expected) <= error


def special_factors(x, got, expected):
    """Several factors are zero or not finite."""
    return sum(v == 0 or not math.isfinite(v) for v in numbers(x)) > 1


def huge_angle(x, got, expected):
    return abs(x[0]) > 2**40


def huge_product(factors):
    return math.prod(abs(v) for v in factors if v) > 3e38


def subnormal(x, got, expected):
    """All operands are zero or subnormal. They have few digits, and dividing them shows it."""
    return all(abs(v) < 1.2e-38 for v in numbers(x)) and abs(got - expected) < 1e-27


def squares(error):
    """An error relative to the squares of the operands, which cancel."""
    def check(x, got, expected):
        largest = max((abs(v) for v in numbers(x)), default=0)
        return abs(got - expected) <= error * largest * largest
    return check


def any_of(*conditions):
    return lambda *point: any(condition(*point) for condition in conditions)


# What depends on the order of additions, and so on the processor.
ANY_ORDER = "partial sums overflow, in any order"
ZERO_SIGN = "the sign of a zero result is not promised"
SCORES = "scores overflow"
DEPENDENT = "the second factors of linearly dependent columns are rounding errors"

# (function, part, where, rule). `function` and `part` are patterns of fnmatch. `where` gets the
# operands' entries at the point (a number or a list each), Trireme's number and PyTorch's. A fifth
# entry is the major version of PyTorch that differs, if others do not.
RULES = [
    ("abs", "gradient*", has_nan, "the sign of NaN is NaN"),
    ("l1", "gradient*", has_nan, "the sign of NaN is NaN"),
    ("sign", "result*", has_nan, "the sign of NaN is NaN"),
    ("sign", "result*", both_zero, "the sign of -0 is -0"),
    ("cast", "result*", saturated, "casts to integers saturate, and NaN becomes 0"),
    ("sin", "*", huge_angle, "f32 angles above 2^40 give some number in [-1, 1]"),
    ("cos", "*", huge_angle, "f32 angles above 2^40 give some number in [-1, 1]"),
    ("tan", "*", huge_angle, "f32 angles above 2^40 give some number"),
    ("expm1", "gradient*", close(math.exp), "PyTorch computes it from the result, and loses digits"),
    ("log1p", "result*", close(math.log1p), "PyTorch's overflows", 1),
    ("maximum", "result*", both_zero, "of zeros of both signs, the first"),
    ("minimum", "result*", both_zero, "of zeros of both signs, the first"),
    ("maximum", "gradient*", has_nan, "half of the gradient to each, if one is NaN"),
    ("minimum", "gradient*", has_nan, "half of the gradient to each, if one is NaN"),
    ("*tanh", "gradient*", close(lambda x: 1 - math.tanh(x)**2, 1e-3),
     "the gradient is computed from the result"),
    ("activation relu*", "gradient*", has_nan, "the gradient of a kink is 0 at NaN"),
    ("activation leaky_relu", "gradient*", lambda x, *_: x[0] == 0 or math.isnan(x[0]),
     "leaky_relu has gradient 1 at 0"),
    ("activation hard_*", "gradient*", lambda x, *_: abs(x[0]) == 3 or math.isnan(x[0]),
     "the gradient of a kink is 0"),
    ("clamp", "gradient*", lambda x, *_: x[0] in (-0.5, 6) or math.isnan(x[0]),
     "clamp has gradient 0 at both ends", 1),
    ("*hinge", "gradient*", has_nan, "the gradient of a kink is 0 at NaN"),
    ("margin_ranking", "gradient*", lambda x, *_: x[2] * (x[0] - x[1]) == 0.5 or math.isnan(x[0]),
     "the gradient of a kink is 0", 1),
    ("multi_class_hinge*", "*", any_of(not_finite, huge), "differences of logits overflow"),
    ("atan2", "gradient*", any_of(not_finite, tiny), "0 at infinity; no overflow at tiny numbers"),
    ("atan2", "gradient*", lambda x, *_: x[0] == 0 == x[1], "it has none where both are 0", 2),
    ("vector_norm of *", "gradient*", has_nan, "the sign of NaN is NaN"),
    ("vector_norm of 3", "*", any_of(huge, tiny), "PyTorch's powers overflow and underflow"),
    ("norm", "*", lambda x, *_: len(x[0]) == 1, "squares overflow in f64; PyTorch's takes abs", 2),
    ("cosine_similarity", "gradient*", tiny, "PyTorch's loses digits", 2),
    ("floor_mod", "result*",
     lambda x, got, expected: math.isnan(expected) and got == x[0] % x[1],
     "PyTorch's is NaN"),
    ("pow", "result*", lambda x, got, expected: x[1] == 1 and got == x[0], "PyTorch's overflows", 1),
    ("floor_mod", "gradient 1", any_of(not_finite, huge, tiny, lambda x, got, expected: x[1] == 0 or math.isnan(expected)),
     "the quotient is not finite"),
    ("pow", "gradient 1", lambda x, *_: x[0] <= 0, "the gradient of the exponent is 0 for bases to 0"),
    ("*prod", "*", lambda x, got, expected: len(x[0]) > 30 and huge_product(x[0]),
     "partial products overflow, in any order"),
    ("cumprod", "gradient*", special_factors, "products of zeros and infinities, in any order"),
    ("prod", "gradient*", special_factors,
     "the gradient of several factors that are 0 or not finite is their product"),
    ("*_norm", "*", lambda x, got, expected: got == 0 and len(set(numbers(x))) == 1,
     "equal numbers have exactly the mean of each"),
    ("activation elu", "gradient*", close(lambda x: math.exp(min(x, 0))),
     "PyTorch computes it from the result, and loses digits"),
    ("poisson_nll of counts", "gradient 1", lambda x, got, expected: math.isnan(expected),
     "Stirling's approximation has no gradient where it is not used"),
    ("focal", "gradient 1", any_of(huge, within(1e-6)), "the gradient of the target is a difference"),
    ("focal_cross_entropy", "gradient*", within(1e-200), "PyTorch's becomes 0"),
    ("cosine_embedding", "gradient 2", lambda x, got, expected: expected == 0,
     "PyTorch's has no gradient of the labels"),
    ("cosine_embedding", "gradient*", lambda x, got, expected: got == 0,
     "the gradient of a kink is 0", 1),
    ("cosine*", "*", any_of(not_finite, huge, within(1e-6)),
     "a cosine has an absolute error; squares overflow"),
    ("triplet_margin with distance", "gradient*", has_nan, "the gradient of a kink is 0 at NaN"),
    ("triplet_margin with distance", "*", huge, "a difference of distances"),
    ("triplet_margin", "*", any_of(huge, within(1e-6)), "a difference of distances"),
    ("kl_divergence", "*", lambda x, *_: x[1] == 0, "0 where p is 0"),
    ("max_pool*", "gradient*", has_nan, "of several NaN, the first"),
    ("activation celu", "gradient*", close(lambda x: math.exp(min(x, 0)), 1e-6),
     "PyTorch computes it from the result, and loses digits"),
    ("activation selu", "gradient*", close(lambda x: 1.7580993408473766 * math.exp(min(x, 0)), 1e-6),
     "PyTorch computes it from the result, and loses digits"),
    ("activation [sc]elu", "result*", both_zero, ZERO_SIGN),
    ("activation soft_shrink", "*", has_nan, "NaN stays NaN", 1),
    ("activation tanh_shrink", "*", within(1e-6), "a difference of nearly equal numbers"),
    ("activation elu", "result*", both_zero, ZERO_SIGN),
    ("*_norm", "*", huge, "squares overflow"),
    ("sum", "result*", huge, ANY_ORDER),
    ("mean", "result*", huge, ANY_ORDER),
    ("activation mish", "*", lambda x, *_: x[0] < -87, "exp below 2^-126 is 0 in f32"),
    ("binary_cross_entropy", "gradient 1", lambda x, got, expected: abs(got - expected) < 1e-7 * max(1, abs(x[0])),
     "the gradient of the target is a difference"),
    ("optimizer radam*", "result*", not_finite, "PyTorch multiplies by 0 where it does not divide", 2),
    ("optimizer muon of vectors", "result*", huge, "squares of f32 overflow", 2),
    ("optimizer rmsprop with decay", "result*", subnormal, "subnormal numbers have few digits"),
    ("optimizer lion*", "result*", any_of(not_finite, huge),
     "the difference of gradient and momentum overflows"),
    ("optimizer lamb*", "result*", huge, "norms and squares overflow"),
    ("optimizer lars*", "result*", huge, "norms overflow"),
    ("optimizer lars*", "result*", lambda x, *_: all(abs(v) < 1.2e-38 for v in x[1]),
     "subnormal gradients have few digits"),
    ("optimizer adafactor*", "result*", huge, "norms and squares overflow"),
    ("optimizer rprop*", "result*", has_nan, "the sign of NaN is NaN"),
    ("nll", "result*", both_zero, ZERO_SIGN),
    ("multi_label_margin", "*", not_finite, "NaN and differences of infinities are NaN"),
    ("multi_label_margin", "*", huge, "PyTorch adds the margin before the difference"),
    ("gaussian_nll", "gradient*", huge, "PyTorch's gradient overflows with the square"),
    ("rms_norm", "gradient*", lambda x, *_: len(x[0]) == 1, "a difference of equal numbers"),
    ("lp_pool1d", "gradient*", lambda x, *_: len(x[0]) == 37 and not_finite(x, 0, 0),
     "the last number is in no window; its gradient is 0 times itself"),
    ("average *", "result*", any_of(not_finite, huge),
     "the difference of average and parameter overflows"),
    ("sampled_softmax", "result*",
     lambda x, got, expected: math.isnan(expected) and not math.isnan(got),
     "a label whose logit is -inf has an infinite loss, also if no other class is drawn"),
    ("schedule plateau", "result*", lambda x, *_: not math.isfinite(x[0][0]),
     "measurements before the first number do not count"),
    ("schedule plateau", "result*", lambda x, *_: any(v < 0 for v in x[0]),
     "a threshold is relative to the size of the best number, also if it is negative"),
    ("variance", "gradient*", huge, "PyTorch's gradient overflows"),
    ("glu", "gradient 1", huge, "products overflow, in any order"),
    ("binary_cross_entropy with pos_weight", "gradient*", within(1e-7),
     "a difference of nearly equal numbers"),
    ("optimizer muon", "result*", within(2e-5), "the iterations enlarge errors of f32"),
    ("inverse", "result 1", tiny, "squares of its elements overflow"),
    ("det", "result 1", any_of(tiny, huge), "it underflows or overflows, and its gradient with it"),
    ("qr", "*", lambda x, *_: x[0] == [1, 2, 2, 4], DEPENDENT),
    ("qr", "result 2", tiny, "the gradients of q cancel"),
    ("weight_norm", "*", lambda x, *_: max(map(abs, x[0])) < 1e-160, "squares underflow in f64"),
    ("eigh", "result 2", lambda x, got, expected: math.isnan(expected),
     "between vectors of equal values there is no gradient"),
    ("svd", "result 3", lambda x, got, expected: math.isinf(expected),
     "PyTorch's squares of singular values underflow"),
    ("svd", "result 3", lambda x, got, expected: math.isnan(expected),
     "between vectors of equal values there is no gradient"),
    ("spectral_norm", "result 1", lambda x, *_: x[0][1] == x[0][2] == 0 and x[0][0] == x[0][3],
     "equal singular values have any vectors"),
    ("matmul", "*", huge, ANY_ORDER),
    ("matmul", "result*", both_zero, ZERO_SIGN),
    ("linear", "*", huge, ANY_ORDER),
    ("conv*d", "*", huge, ANY_ORDER),
    ("conv2d of 16 channels", "*", any_of(not_finite, huge),
     "Winograd's algorithm adds neighbors that cancel"),
    ("adaptive_avg_pool*", "result*", huge, ANY_ORDER),
    ("avg_pool3d", "result*", huge, ANY_ORDER),
    ("fold", "result*", huge, ANY_ORDER),
    ("einsum", "*", huge, ANY_ORDER),
    ("einsum", "result*", both_zero, ZERO_SIGN),
    ("adaptive_max_pool*", "gradient*", lambda x, *_: len(x[0]) == 5 and len(set(x[0])) < 5,
     "equal elements share the gradient, a repeated one twice"),
    ("resize_bilinear", "result*", lambda x, got, expected: math.isnan(expected),
     "PyTorch multiplies infinity by weights of 0 along the other axis"),
    ("*fft*", "result*", both_zero, ZERO_SIGN),
    ("*fft*", "result*", huge, "sums overflow before their factor"),
    ("ctc_loss", "result 1", lambda x, got, expected: -INFINITY in x[0] and math.isnan(expected)
     and math.isfinite(got), "PyTorch's is NaN if a class is impossible"),
    ("ctc_loss", "result 1", any_of(huge, within(1e-12)), "PyTorch's loses digits of large losses"),
    ("attention", "*", not_finite, "the gradient of a kink is 0 at NaN"),
    ("attention", "*", huge, SCORES),
    ("attention", "gradient*", squares(2e-7), "a difference of products"),
    ("attention blockwise", "gradient*", squares(1e-6), "a difference of products"),
    ("attention blockwise", "gradient*", lambda x, got, expected: math.isnan(got),
     "keys and values must be finite, even where a query may not attend to them"),
    ("attention blockwise", "result*", huge, "sums of weighted values overflow before the division"),
    ("attention blockwise", "gradient*", huge, "weights come from the rounded logarithm of a sum"),
]
RULES = [rule for rule in RULES if rule[4:] in ((), (int(torch.__version__.split(".")[0]),))]
_used = set()


def find(function, part, x, got, expected):
    """Returns the rule that explains a difference, or None."""
    for i, (pattern, parts, where, rule, *_) in enumerate(RULES):
        if (fnmatch.fnmatch(function, pattern) and fnmatch.fnmatch(part, parts)
                and where(x, got, expected)):
            _used.add(i)
            return rule
    return None


def unused():
    by_processor = (ANY_ORDER, ZERO_SIGN, SCORES, DEPENDENT)
    return [rule[3] for i, rule in enumerate(RULES)
            if i not in _used and rule[3] not in by_processor]
