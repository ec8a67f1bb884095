"""What a training has measured."""

from typing import Any

from trireme.notebook import table


class History:
    """Metrics of each epoch.

    Attributes:
        epoch: numbers of the epochs, from 0
        history: lists of numbers by name: "loss", the metrics, and, of validation data, "val_loss"
            and so on
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def add(self, epoch: int, logs: dict[str, float]) -> None:
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> list[float]:
        return self.history[name]

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {values[-1]:.4g}" for name, values in self.history.items())
        return f"<History of {len(self.epoch)} epochs; last: {last}>"

    def _repr_html_(self) -> str:
        names = list(self.history)
        columns = [self.history[name] for name in names]
        rows = [(epoch + 1, *values)
                for epoch, values in zip(self.epoch, zip(*columns, strict=True), strict=False)]
        return table(("epoch", *names), rows)

    def plot(self, names: list[str] | None = None) -> Any:
        """Draws the curves with matplotlib, each metric beside that of the validation data.
        Returns the figure."""
        try:
            from matplotlib import pyplot  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError("History.plot() needs matplotlib: pip install matplotlib") from error
        shown = names or [name for name in self.history if not name.startswith("val_")]
        figure, axes = pyplot.subplots(1, len(shown), figsize=(4.5 * len(shown), 3.5),
                                       squeeze=False)
        for axis, name in zip(axes[0], shown, strict=True):
            for key, label in ((name, "training"), ("val_" + name, "validation")):
                if key in self.history:
                    axis.plot([e + 1 for e in self.epoch], self.history[key], marker=".",
                              label=label)
            axis.set(xlabel="epoch", title=name)
            axis.legend()
        figure.tight_layout()
        return figure
