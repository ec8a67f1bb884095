"""Training on iterables of batches: generators, and loaders of PyTorch."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

from trireme._core import Batches, Dataset, Trainer
from trireme.callbacks import Callback, Calls, Logs, NativeCallback
from trireme.data import is_frame
from trireme.errors import DataError, UsageError
from trireme.history import History
from trireme.progress import Progress

if TYPE_CHECKING:
    from trireme.model import Model


def is_stream(data: Any) -> bool:
    """Whether it is an iterable of batches, and no array, list, dict or data frame."""
    if isinstance(data, (Dataset, Mapping, Sequence, str)) or is_frame(data):
        return False
    return not hasattr(data, "__array__") and hasattr(data, "__iter__")


def _epoch(model: "Model", trainer: Trainer, batches: Iterable[Any], steps: int | None,
           calls: Calls, done: int) -> tuple[int, Logs]:
    """The number of steps, and the mean loss, weighted by the examples of each batch."""
    total = 0.0
    examples = 0
    count = 0
    for batch in batches:
        arrays = model.batch_of(batch)
        size = len(next(iter(arrays.values())))
        loss = trainer.step(arrays)
        total += loss * size
        examples += size
        count += 1
        calls.step(done + count, loss)
        if count == steps:
            break
    return count, {"loss": total / examples} if examples else {}


def fit_stream(model: "Model", trainer: Trainer, data: Iterable[Any], steps: int | None,
               validation: Batches | None, epochs: int,
               callbacks: Sequence[Callback | NativeCallback], progress: bool) -> History:
    """Model.fit() for an iterable. It is iterated once for each epoch; a generator, which can be
    iterated only once, continues from the end of the epoch before."""
    called = list(callbacks)
    if progress:
        expected = steps or (len(data) if isinstance(data, Sized) else 0)
        called.append(Progress(epochs, expected))
    calls = Calls(model, called)
    if calls.native:
        raise UsageError(f"Model.fit: {type(calls.native[0]).__name__} cannot follow an iterable\n"
                         "  hint   give arrays or a Dataset, or write with tr.callbacks.EventWriter")
    once = iter(data) is data
    done = 0
    calls.begin()
    try:
        for epoch in range(epochs):
            count, logs = _epoch(model, trainer, data, steps, calls, done)
            done += count
            if count == 0 or (once and steps is not None and count < steps):
                raise DataError(f"the data ended after {done} batches, in epoch {epoch + 1} of "
                                f"{epochs}\n  hint   give an iterable that can be read again, "
                                "such as a DataLoader, or fewer epochs")
            measured = trainer.evaluate(validation) if validation is not None else {}
            if not calls.end_epoch(epoch, epochs, logs, measured):
                break
    finally:
        calls.end()
    return calls.history
