"""Data sets from arrays, dicts, data frames and tensors of other libraries."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trireme._core import Batches, Column, Dataset, DType, Value, concatenate
from trireme._core import from_arrays as _from_arrays
from trireme._core import from_stream as _from_stream
from trireme.errors import DataError, UsageError

__all__ = ["Batches", "Column", "Dataset", "concatenate", "from_arrays", "from_generator"]

if TYPE_CHECKING:  # NumPy takes most of the time of an import, so functions import it
    from numpy.typing import NDArray

_NUMPY = {"boolean": "bool", "f16": "float16", "f32": "float32", "f64": "float64",
          "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}


def from_arrays(columns: Mapping[str, Any], class_names: Sequence[str] = ()) -> Dataset:
    """A data set of arrays whose axis 0 counts the examples. Arrays are shared, not copied, unless
    they have to be made contiguous.

    Raises:
        UsageError: for arrays with different numbers of examples
    """
    import numpy as np

    arrays = {name: np.asarray(array) for name, array in columns.items()}
    return _from_arrays(arrays, list(class_names))


def from_generator(function: Callable[[], Iterable[Mapping[str, Any]]], *, examples: int = 0,
                   endless: bool = False, shuffle_buffer: int = 0, seed: int = 0,
                   batched: bool = False, class_names: Sequence[str] = ()) -> Dataset:
    """A data set of a function that returns an iterable of examples, such as a generator function.
    It is called for each epoch, and again when a training resumes; it should then return the same
    examples.

    Args:
        examples: of an epoch; 0 counts them by reading once
        endless: each epoch continues where the one before ended; False reads from the beginning
        shuffle_buffer: each example is drawn from this many next ones; 0 keeps the order
        batched: the function returns batches, whose axis 0 counts the examples

    Raises:
        UsageError: for an endless stream without `examples`
        DataError: if examples differ in their columns, or the stream ends before the epoch
    """
    import numpy as np

    def batches() -> Iterator[dict[str, Any]]:
        for example in function():
            yield {name: np.asarray(value) if batched else np.asarray(value)[None]
                   for name, value in example.items()}

    return _from_stream(batches, examples=examples, endless=endless,
                        shuffle_buffer=shuffle_buffer, seed=seed, class_names=list(class_names))


def _to_numpy(data: Any) -> "NDArray[Any]":
    import numpy as np

    if isinstance(data, np.ndarray):
        return data
    for method in ("to_numpy", "numpy"):  # data frames of pandas and polars; tensors
        if hasattr(data, method):
            try:
                return np.asarray(getattr(data, method)())
            except (TypeError, RuntimeError):  # such as a tensor that needs detach()
                break
    if hasattr(data, "detach"):
        return np.asarray(data.detach().cpu().numpy())
    try:
        return np.asarray(data)
    except ValueError as error:
        raise DataError(f"the data are no array: {error}\n  hint   sequences of different lengths "
                        "need an input with levels=1") from error


def as_array(data: Any) -> "NDArray[Any]":
    """A NumPy array of an array, a tensor, a list, or a data frame.

    Raises:
        DataError: for objects, texts and times
    """
    array = _to_numpy(data)
    if array.dtype.kind in "OSUMm":
        what = "objects" if array.dtype.kind == "O" else f"of dtype {array.dtype}"
        raise DataError(f"the data are {what}, not numbers\n  hint   give an array of numbers; "
                        "a column of a data frame with a text or None is one of objects")
    return array


def converted(array: "NDArray[Any]", dtype: DType, what: str) -> "NDArray[Any]":
    """The array with the dtype of an input. Floats do not become integers."""
    wanted = _NUMPY.get(dtype.name)
    if wanted is None or array.dtype == wanted:
        return array
    if dtype.name[0] in "iu" and array.dtype.kind not in "iub":
        raise UsageError(f"{what} has dtype {array.dtype}, and its input {dtype.name}\n"
                         f"  hint   convert it: array.astype(\"{wanted}\")")
    return array.astype(wanted)


def column_of(data: Any, value: Value, what: str) -> "NDArray[Any]":
    """An array for an input. [n] becomes [n, 1] where the input asks for it, and the reverse."""
    array = converted(as_array(data), value.dtype, what)
    rank = len(value.shape)
    if array.ndim == rank - 1 and rank > 1 and value.shape[-1] == 1:
        return array[..., None]
    if array.ndim == rank + 1 and array.shape[-1] == 1:
        return array[..., 0]
    return array


def is_frame(data: Any) -> bool:
    """Whether it is a data frame of pandas or polars."""
    return hasattr(data, "columns") and hasattr(data, "to_numpy") and hasattr(data, "__getitem__")


def ragged_columns(name: str, data: Any, value: Value) -> dict[str, "NDArray[Any]"]:
    """The packed rows of an input with levels=1 and their splits, of a list of sequences."""
    import numpy as np

    row = tuple(size for size in value.shape[1:] if isinstance(size, int))
    sequences = [as_array(sequence) for sequence in data]
    lengths = [len(sequence) if sequence.ndim else -1 for sequence in sequences]
    if -1 in lengths:
        raise UsageError(f'"{name}" needs a list of sequences, and example {lengths.index(-1)} is '
                         "one number")
    full = [sequence for sequence in sequences if len(sequence)]
    empty = np.zeros((0, *row), _NUMPY.get(value.dtype.name, "float32"))
    rows = np.concatenate(full) if full else empty
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return {name: converted(rows, value.dtype, f'"{name}"'), name + ".splits": splits}
