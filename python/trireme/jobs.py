"""Jobs: trainings that a TOML file or a dict describes, as for the command `trireme train`.

    result = tr.jobs.Job("fashion.toml", set={"train.epochs": 2}).run()
    print(result.test["accuracy"], result.saved_model)
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trireme import _core
from trireme._made.jobs import catalog_json, job_schema_json, open_data, suggest_job
from trireme.callbacks import Callback, Calls, Logs, NativeCallback
from trireme.errors import UsageError
from trireme.history import History
from trireme.progress import Progress

__all__ = ["Job", "Result", "catalog", "open_data", "schema", "suggest_job", "toml"]


def _value(value: Any, key: str) -> str:
    """A value of TOML on one line."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else \
            "inf" if value > 0 else "-inf"
    if isinstance(value, (str, os.PathLike)):
        # JSON has the escapes of TOML, except for one control character.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner, f'{key}.{name}')}"
                                for name, inner in value.items() if inner is not None) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(inner, key) for inner in value) + "]"
    raise UsageError(f"{key} of the job is of type {type(value).__name__}\n"
                     "  hint   a job has numbers, texts, lists and dicts")


def _key(name: Any) -> str:
    text = str(name)
    bare = text.isascii() and text.replace("_", "").replace("-", "").isalnum()
    return text if bare else json.dumps(text, ensure_ascii=False)


def toml(job: Mapping[str, Any]) -> str:
    """The text of the job file that says the same as a dict. A key with the value None is left out.

    Raises:
        UsageError: for a value that TOML does not have
    """
    sections = ""
    values = ""
    for name, value in job.items():
        if isinstance(value, Mapping):
            sections += f"\n[{_key(name)}]\n"
            sections += "".join(f"{_key(key)} = {_value(inner, f'{name}.{key}')}\n"
                                for key, inner in value.items() if inner is not None)
        elif value is not None:
            values += f"{_key(name)} = {_value(value, str(name))}\n"
    return values + sections


def settings(changes: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """Changes of a job as `--set` takes them."""
    if isinstance(changes, Mapping):
        return [f"{key}={_value(value, key)}" for key, value in changes.items()]
    return [changes] if isinstance(changes, str) else list(changes)


@dataclass
class Result:
    """A training that has ended.

    Attributes:
        steps: training steps, with those before a resume
        seconds: of the training
        history: the metrics of each epoch
        test: the metrics of the test data; empty without test data
        saved_model: the folder for tr.load_model()
    """

    steps: int
    seconds: float
    history: History
    test: dict[str, Any] = field(default_factory=dict)
    saved_model: str = ""


class Job(_core.Job):
    """A job file, or a dict of its sections. Reading checks the keys; data are opened and the
    Program is built at their first use.

    Args:
        job: the path of a file, or a dict: {"data": {...}, "model": {...}, "train": {...}}
        name: of a job that is a dict
        set: changes, {"train.epochs": 2} or ["train.epochs=2"]
        options: seed, output, run, threads, trace_nan, interpreter; as for `trireme train`

    Raises:
        DataError: with the line, for mistakes of the job
        NotFoundError: if there is no such file, or data set
    """

    stop_training = False

    def __init__(self, job: str | os.PathLike[str] | Mapping[str, Any], *, name: str = "job",
                 set: Mapping[str, Any] | Sequence[str] = (), **options: Any) -> None:
        options["set"] = settings(set)
        if isinstance(job, Mapping):
            super().__init__(name, toml(job), **options)
        else:
            super().__init__(os.fspath(job), None, **options)

    def check(self) -> None:
        """Opens all data and builds the Program, without training.

        Raises:
            DataError: with the line, for mistakes of the job or the data
            UsageError: for mistakes of the network
        """
        self.summary()

    def run(self, *, callbacks: Sequence[Callback | NativeCallback] = (), progress: bool = True,
            **options: Any) -> Result:
        """Trains, measures the test data and saves the model, as `trireme train` does. Ctrl-C ends
        the training after a step, with a checkpoint if there is a run folder.

        Args:
            callbacks: their `model` is this Job, with `stop_training`, `trainer` and `program`
            progress: shows the progress on stderr
            options: of Trainer.fit, instead of those of the job: epochs, max_steps, run, resume
        """
        called = list(callbacks)
        epochs = int(options.get("epochs", self.epochs))
        if progress:
            called.append(Progress(epochs, len(self.train_data)))
        calls = Calls(self, called)

        def after_epoch(report: dict[str, Any]) -> bool:
            return calls.end_epoch(report["epoch"] - 1, epochs, report["training"],
                                   report["validation"])

        calls.begin()
        try:
            done = self.fit_and_save(progress=False, after_epoch=after_epoch,
                                     after_step=calls.step if calls.watched else None,
                                     callbacks=calls.native, **options)
        finally:
            calls.end()
        return Result(done.steps, done.seconds, calls.history, done.test or {},
                      self.output_directory)

    def evaluate(self) -> Logs:
        """The loss and the metrics of the test data, with the present parameters.

        Raises:
            UsageError: if the job has no test data
        """
        if self.test_data is None:
            raise UsageError(f"{self.name} has no test data\n  hint   [data] test names them")
        return self.trainer.evaluate(self.test_data)


def schema() -> dict[str, Any]:
    """The JSON Schema of job files."""
    made: dict[str, Any] = json.loads(job_schema_json())
    return made


def catalog() -> dict[str, Any]:
    """All layers, losses, optimizers and tables of jobs, with their options."""
    made: dict[str, Any] = json.loads(catalog_json())
    return made
