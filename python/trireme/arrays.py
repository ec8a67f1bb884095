"""Arrays: immediate mode, without a Program and a Session of your own.

    import trireme as tr

    x = tr.array([1.0, 2.0, 3.0])
    y = tr.exp(x) * 2
    print(y)
    print(tr.grad(lambda x: (x * x).sum())(x))

Functions of Values take Arrays and record their ops. These are compiled and run when an element is
needed: by printing, item(), numpy() or eval(), and at the end of grad(). Layers with parameters
need a Program.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from trireme._core import Array, DType, Jit, array_from, f32, i64
from trireme._core import eval_all as eval_all
from trireme._core import value_and_gradients as _value_and_gradients
from trireme.errors import UsageError

__all__ = ["Array", "arange", "array", "asarray", "eval_all", "full", "grad", "jit", "ones",
           "value_and_grad", "zeros"]


def array(numbers: Any, dtype: DType | str | None = None) -> Array:
    """An Array of numbers, lists of them, a NumPy array, or a tensor of another library. Copies the
    memory. Python's floats become f32 and its integers i64; other elements keep their dtype.

    Raises:
        UsageError: for objects that are no numbers, and lists of unequal lengths
    """
    made = array_from(numbers, True)
    return made if dtype is None else _of_dtype(made, dtype)


def asarray(numbers: Any, dtype: DType | str | None = None) -> Array:
    """As array(), but shares the memory of contiguous arrays and tensors, which must not change as
    long as the Array exists."""
    made = array_from(numbers, False)
    return made if dtype is None else _of_dtype(made, dtype)


def full(shape: int | Sequence[int], number: float, dtype: DType = f32) -> Array:
    """An Array of equal elements."""
    import numpy as np
    return _of_dtype(array_from(np.full(shape, number), False), dtype)


def zeros(shape: int | Sequence[int], dtype: DType = f32) -> Array:
    """An Array of zeros."""
    import numpy as np
    return _of_dtype(array_from(np.zeros(shape, np.float32), False), dtype)


def ones(shape: int | Sequence[int], dtype: DType = f32) -> Array:
    """An Array of ones."""
    import numpy as np
    return _of_dtype(array_from(np.ones(shape, np.float32), False), dtype)


def arange(start: float, stop: float | None = None, step: float = 1,
           dtype: DType | None = None) -> Array:
    """The numbers start, start + step ... below stop (above, if step < 0); with one argument, from
    0 to it. Without `dtype`, i64 for integers and f32 for others.

    Raises:
        UsageError: for a step of 0
    """
    import numpy as np
    if step == 0:
        raise UsageError("arange: the step is 0")
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(number, int) for number in (start, stop, step))
    numbers = np.arange(start, stop, step, np.int64 if whole else np.float64)
    return _of_dtype(array_from(numbers, False), dtype or (i64 if whole else f32))


def _of_dtype(numbers: Array, dtype: DType | str) -> Array:
    return numbers if numbers.dtype == dtype else numbers.astype(dtype)


# --- Trees: nested lists, tuples and dicts of Arrays


def _flatten(tree: Any, leaves: list[Array], is_leaf: Callable[[Any], bool]) -> Hashable:
    """Appends the Arrays of a tree, and returns the rest of it."""
    if is_leaf(tree):
        leaves.append(tree if isinstance(tree, Array) else array(tree))
        return _flatten
    if isinstance(tree, (list, tuple)):
        return (type(tree), *[_flatten(part, leaves, is_leaf) for part in tree])
    if isinstance(tree, dict):
        return (dict, *[(key, _flatten(tree[key], leaves, is_leaf)) for key in tree])
    return ("constant", type(tree), tree)


def _unflatten(rest: Any, leaves: list[Array]) -> Any:
    """The tree, with the Arrays in front of the list, which are taken from it."""
    if rest is _flatten:
        return leaves.pop(0)
    if rest[0] == "constant":
        return rest[2]
    if rest[0] is dict:
        return {key: _unflatten(part, leaves) for key, part in rest[1:]}
    parts = [_unflatten(part, leaves) for part in rest[1:]]
    return rest[0](*parts) if hasattr(rest[0], "_fields") else rest[0](parts)


def _is_number(tree: Any) -> bool:
    """Whether it becomes an Array: an Array, a float, a NumPy array or a tensor."""
    return isinstance(tree, (Array, float)) or hasattr(tree, "__array__") or \
        hasattr(tree, "__dlpack__")


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, *,
                   has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns what `function` returns, and its gradients with respect to the
    positional arguments `argnums`: Arrays, or lists, tuples and dicts of them, in the same
    structure.

    `function` returns a scalar Array, or with `has_aux` a pair of it and anything else, which is
    passed on. It may read elements and branch on them. The arguments are f32 or f64.

    Raises:
        UsageError: for other results and arguments, and ops without a gradient
    """
    single = isinstance(argnums, int)
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)

    def both(*arguments: Any, **options: Any) -> Any:
        leaves: list[Array] = []
        try:
            rest = [_flatten(arguments[i], leaves, _is_number) for i in chosen]
        except IndexError:
            raise UsageError(f"grad: argnums is {argnums}, and the function was called with "
                             f"{len(arguments)} positional arguments") from None
        result: Any = None

        def call(own: list[Array]) -> list[Array]:
            nonlocal result
            given = list(arguments)
            for i, part in zip(chosen, rest, strict=True):
                given[i] = _unflatten(part, own)
            result = function(*given, **options)
            value = result[0] if has_aux else result
            if not isinstance(value, Array):
                raise UsageError(f"grad: the function returned {type(value).__name__}, must be a "
                                 f"scalar Array")
            return [value]

        value, gradients = _value_and_gradients(call, leaves)
        trees = [_unflatten(part, gradients) for part in rest]
        return (value, result[1]) if has_aux else value, trees[0] if single else tuple(trees)

    return both


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, *,
         has_aux: bool = False) -> Callable[..., Any]:
    """As value_and_grad(), but returns the gradients only, or with `has_aux` a pair of them and
    the other result."""
    both = value_and_grad(function, argnums, has_aux=has_aux)

    def gradients(*arguments: Any, **options: Any) -> Any:
        value, found = both(*arguments, **options)
        return (found, value[1]) if has_aux else found

    return gradients


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is recorded once for each structure, dtypes and shapes of its arguments, and
    then only run.

    Arguments are Arrays, NumPy arrays, floats, and lists, tuples and dicts of them; integers, bools
    and texts are constants, for each of which the function is recorded again. Whatever else the
    function uses keeps the value of the recording. It cannot read elements of Arrays: use
    tr.where(), tr.cond() and tr.while_values(). As a decorator: @tr.jit.
    """
    recorded: dict[Hashable, tuple[Jit, Callable[[list[Array]], list[Array]], list[Hashable]]] = {}

    def run(*arguments: Any, **options: Any) -> Any:
        leaves: list[Array] = []
        rest = _flatten((arguments, options), leaves, _is_number)
        key = rest, *[(leaf.dtype, leaf.shape) for leaf in leaves]
        found = recorded.get(key)
        if found is None:
            results: list[Hashable] = []

            def call(own: list[Array]) -> list[Array]:
                given, given_options = _unflatten(rest, own)
                made: list[Array] = []
                results[:] = [_flatten(function(*given, **given_options), made, _is_number)]
                return made

            found = recorded[key] = Jit(), call, results
        computed = found[0](found[1], leaves)
        return _unflatten(found[2][0], computed)

    return run
