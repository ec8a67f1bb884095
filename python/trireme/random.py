"""Random Arrays. Each one has other numbers; seed() restarts them."""

from collections.abc import Sequence

from trireme._core import Array, DType, f32
from trireme._core import set_array_seed as seed
from trireme._made import ops as _ops

__all__ = ["bernoulli", "normal", "seed", "uniform"]


def normal(shape: int | Sequence[int] = (), *, mean: float = 0, stddev: float = 1,
           dtype: DType = f32) -> Array:
    """Numbers from a normal distribution."""
    return _as_array(_ops.random_normal(_sizes(shape), mean=mean, stddev=stddev, dtype=dtype))


def uniform(shape: int | Sequence[int] = (), *, low: float = 0, high: float = 1,
            dtype: DType = f32) -> Array:
    """Numbers from [low, high), equally distributed."""
    return _as_array(_ops.random_uniform(_sizes(shape), low=low, high=high, dtype=dtype))


def bernoulli(probability: float, shape: int | Sequence[int] = (), *,
              dtype: DType = f32) -> Array:
    """1 with the probability, else 0.

    Raises:
        UsageError: for a probability outside of [0, 1]
    """
    return _as_array(_ops.random_bernoulli(_sizes(shape), probability, dtype=dtype))


def _sizes(shape: int | Sequence[int]) -> Sequence[int]:
    return (shape,) if isinstance(shape, int) else shape


def _as_array(value: object) -> Array:
    assert isinstance(value, Array)  # of no Program
    return value
