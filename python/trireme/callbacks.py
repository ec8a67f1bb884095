"""Functions that a training calls: what it has reached, and when it should stop."""

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING

from trireme._core import EventWriter, NativeCallback, TensorBoard
from trireme.history import History

if TYPE_CHECKING:
    from trireme.jobs import Job
    from trireme.model import Model

Logs = dict[str, float]

__all__ = ["CSVLogger", "Callback", "EarlyStopping", "EventWriter", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "NativeCallback", "ReduceLROnPlateau",
           "TensorBoard", "Timer"]


class Callback:
    """The base class. `logs` has the loss and all metrics; those of validation data begin with
    "val_". Set `self.model.stop_training` to end the training after this epoch."""

    model: "Model"

    def on_train_begin(self) -> None:
        """Before the first epoch."""

    def on_train_end(self) -> None:
        """After the last epoch."""

    def on_epoch_begin(self, epoch: int) -> None:
        """Epochs count from 0."""

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """After the epoch and its validation."""

    def on_train_batch_end(self, step: int, loss: float) -> None:
        """Steps count from 1, through all epochs of this fit."""


class LambdaCallback(Callback):
    """Calls functions with the arguments of the methods of Callback."""

    def __init__(self, **functions: object) -> None:
        for name, function in functions.items():
            if not name.startswith("on_") or not hasattr(Callback, name):
                raise ValueError(f"a Callback has no method {name}")
            setattr(self, name, function)


class _Watching(Callback):
    """Follows one metric."""

    def __init__(self, monitor: str, min_delta: float, mode: str) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f'mode is "{mode}"; it is one of "auto", "min", "max"')
        self.monitor, self.min_delta = monitor, abs(min_delta)
        larger = any(word in monitor for word in ("acc", "auc", "f1", "precision", "recall", "r2"))
        self.sign = 1 if mode == "max" or (mode == "auto" and larger) else -1
        self.best = -math.inf

    def improved(self, logs: Logs) -> bool:
        if self.monitor not in logs:
            raise ValueError(f"{type(self).__name__} follows {self.monitor}, which is not measured;"
                             f" there are {', '.join(logs)}")
        value = self.sign * logs[self.monitor]
        if math.isnan(value) or value <= self.best + (self.min_delta if self.best > -math.inf
                                                      else 0):
            return False
        self.best = value
        return True


class EarlyStopping(_Watching):
    """Ends the training when a metric has not improved in `patience` epochs in a row.

    Args:
        min_delta: the smallest change that is an improvement
        mode: "max" if a larger value is better; "auto" knows it from the name
        restore_best_weights: sets the parameters of the best epoch at the end
    """

    def __init__(self, monitor: str = "val_loss", *, patience: int = 0, min_delta: float = 0.0,
                 mode: str = "auto", restore_best_weights: bool = False) -> None:
        super().__init__(monitor, min_delta, mode)
        self.patience, self.restore = patience, restore_best_weights
        self.waited = 0
        self.stopped_epoch: int | None = None
        self._weights: dict[str, object] | None = None

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        if self.improved(logs):
            self.waited = 0
            if self.restore:
                self._weights = self.model.get_weights()
            return
        self.waited += 1
        if self.waited > self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self) -> None:
        if self._weights is not None:
            self.model.set_weights(self._weights)


class ModelCheckpoint(_Watching):
    """Saves the model after each epoch. `path` may hold {epoch} and names of metrics, as in
    "runs/{epoch:03d}-{val_loss:.3f}"."""

    def __init__(self, path: str | os.PathLike[str], *, monitor: str = "val_loss",
                 save_best_only: bool = False, mode: str = "auto") -> None:
        super().__init__(monitor, 0.0, mode)
        self.path, self.best_only = str(path), save_best_only

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        if self.best_only and not self.improved(logs):
            return
        self.model.save(self.path.format(epoch=epoch + 1, **logs))


class CSVLogger(Callback):
    """Writes a line of metrics for each epoch."""

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False) -> None:
        self.path, self.append = os.fspath(path), append
        self._file: IO[str] | None = None

    def on_train_begin(self) -> None:
        self._file = open(self.path, "a" if self.append else "w", encoding="utf-8", newline="")

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        import csv

        assert self._file is not None
        writer = csv.writer(self._file)
        if self._file.tell() == 0:
            writer.writerow(["epoch", *logs])
        writer.writerow([epoch, *logs.values()])
        self._file.flush()

    def on_train_end(self) -> None:
        if self._file is not None:
            self._file.close()


class Timer(Callback):
    """Measures the seconds of each epoch, in `seconds`."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._begin = 0.0

    def on_epoch_begin(self, epoch: int) -> None:
        self._begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        self.seconds.append(time.perf_counter() - self._begin)


class LearningRateScheduler(Callback):
    """Sets the learning rate at the beginning of each epoch.

    Args:
        schedule: gets the number of the epoch, from 0, and the present rate; returns the new one
    """

    def __init__(self, schedule: Callable[[int, float], float]) -> None:
        self.schedule = schedule

    def on_epoch_begin(self, epoch: int) -> None:
        self.model.learning_rate = self.schedule(epoch, self.model.learning_rate)


class ReduceLROnPlateau(_Watching):
    """Multiplies the learning rate by `factor` when a metric has not improved in `patience` epochs
    in a row.

    Args:
        cooldown: epochs after a reduction that do not count
        min_lr: the smallest rate
    """

    def __init__(self, monitor: str = "val_loss", *, factor: float = 0.1, patience: int = 10,
                 min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0,
                 mode: str = "auto") -> None:
        super().__init__(monitor, min_delta, mode)
        if not 0 < factor < 1:
            raise ValueError(f"factor is {factor}; it must be between 0 and 1")
        self.factor, self.patience, self.cooldown, self.min_lr = factor, patience, cooldown, min_lr
        self.waited = self.cooling = 0

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        if self.improved(logs):
            self.waited = 0
            return
        if self.cooling > 0:
            self.cooling -= 1
            return
        self.waited += 1
        if self.waited < self.patience:
            return
        self.model.learning_rate = max(self.model.learning_rate * self.factor, self.min_lr)
        self.waited, self.cooling = 0, self.cooldown


class Calls:
    """Calls the callbacks of one fit, and keeps its History."""

    def __init__(self, model: "Model | Job",
                 callbacks: Sequence[Callback | NativeCallback]) -> None:
        self.model, self.history = model, History()
        self.native = [c for c in callbacks if isinstance(c, NativeCallback)]  # fit() calls them
        self.callbacks = [c for c in callbacks if not isinstance(c, NativeCallback)]
        model.stop_training = False
        for callback in self.callbacks:
            callback.model = model  # type: ignore[assignment]
        # A call after each step costs time, so only those that want it get it.
        own = "on_train_batch_end"
        self.watched = [c for c in self.callbacks if getattr(c, "live", True) and
                        (own in vars(c) or getattr(type(c), own) is not getattr(Callback, own))]

    def begin(self) -> None:
        for callback in self.callbacks:
            callback.on_train_begin()
        self._begin_epoch(0)

    def _begin_epoch(self, epoch: int) -> None:
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch)

    def step(self, step: int, loss: float) -> None:
        for callback in self.watched:
            callback.on_train_batch_end(step, loss)

    def end_epoch(self, epoch: int, epochs: int, training: Logs, validation: Logs) -> bool:
        """Whether the training goes on."""
        logs = {**training, **{"val_" + name: value for name, value in validation.items()}}
        self.history.add(epoch, logs)
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs)
        goes_on = not self.model.stop_training and epoch + 1 < epochs
        if goes_on:
            self._begin_epoch(epoch + 1)
        return goes_on

    def end(self) -> None:
        for callback in self.callbacks:
            callback.on_train_end()
