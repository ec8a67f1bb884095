"""The progress of a training, for people."""

import sys
import time

from trireme.callbacks import Callback, Logs
from trireme.notebook import Line, in_notebook


def _text(logs: Logs) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in logs.items())


class Progress(Callback):
    """On a terminal one line for each epoch, which is updated; in a notebook one line for all; else
    the line at the end of each epoch only. Writes to stderr, so that results on stdout stay
    alone."""

    def __init__(self, epochs: int, steps: int) -> None:
        self.epochs, self.steps = epochs, steps
        self._line = Line() if in_notebook() else None
        self.live = self._line is not None or sys.stderr.isatty()
        self._epoch = self._done = self._steps_before = 0
        self._begin = self._shown = 0.0

    def on_epoch_begin(self, epoch: int) -> None:
        self._epoch, self._steps_before = epoch, self._done
        self._begin = self._shown = time.perf_counter()

    def on_train_batch_end(self, step: int, loss: float) -> None:
        self._done = step
        now = time.perf_counter()
        if now - self._shown < 0.2:
            return
        self._shown = now
        steps = f"/{self.steps}" if self.steps else ""
        self._show(f"epoch {self._epoch + 1}/{self.epochs}  step {step - self._steps_before}{steps}"
                   f"  loss {loss:.4g}", "")

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        seconds = time.perf_counter() - self._begin
        self._show(f"epoch {epoch + 1}/{self.epochs}  {_text(logs)}  {seconds:.1f} s", "\n")

    def _show(self, line: str, end: str) -> None:
        if self._line is not None:
            self._line.show(line)
        else:
            print(f"\r{line}\x1b[K" if self.live else line, end=end, file=sys.stderr, flush=True)
