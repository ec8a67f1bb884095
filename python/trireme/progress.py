"""The progress of a training, for people."""

import sys
import time

from trireme.callbacks import Callback, Logs


def _text(logs: Logs) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in logs.items())


class Progress(Callback):
    """On a terminal and in notebooks one line for each epoch, which is updated; else the line at
    the end of each epoch only. Writes to stderr, so that results on stdout stay alone."""

    def __init__(self, epochs: int, steps: int) -> None:
        self.epochs, self.steps = epochs, steps
        self.live = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._epoch = 0
        self._begin = self._shown = 0.0

    def on_epoch_begin(self, epoch: int) -> None:
        self._epoch = epoch
        self._begin = self._shown = time.perf_counter()

    def on_train_batch_end(self, step: int, loss: float) -> None:
        now = time.perf_counter()
        if now - self._shown < 0.2:
            return
        self._shown = now
        done = step - self._epoch * self.steps
        print(f"\repoch {self._epoch + 1}/{self.epochs}  step {done}/{self.steps}  loss {loss:.4g}",
              end="\x1b[K", file=sys.stderr, flush=True)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        seconds = time.perf_counter() - self._begin
        line = f"epoch {epoch + 1}/{self.epochs}  {_text(logs)}  {seconds:.1f} s"
        print(f"\r{line}\x1b[K" if self.live else line, file=sys.stderr, flush=True)
