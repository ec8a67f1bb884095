"""Training by several processes, of which any may fail.

    with tr.distributed.join("asynchronous") as member:
        trainer = member.trainer(loss, tr.optim.Adagrad(0.05))
        member.train(trainer, batches, epochs=2)
        if member.is_chief:
            print(trainer.evaluate(test))
            member.save(trainer, "clicks", outputs=[scores])

    python train.py                                                        one process
    trireme launch --program "python train.py" --trainers 2 --servers 2   four processes
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trireme import _core, errors, jobs
from trireme._core import Batches, Metric, Optimizer, Trainer, Value
from trireme._made.records import Distribution, Eviction
from trireme.command import program

if TYPE_CHECKING:
    from types import TracebackType

    from trireme import _distributed

__all__ = ["Distribution", "Eviction", "Member", "is_launched", "join", "launch"]


def is_launched() -> bool:
    """Whether `trireme launch` started this process."""
    return bool(os.environ.get("TRIREME_JOB_STORE") or os.environ.get("TRIREME_JOB_ETCD"))


class Member:
    """This process as a member of a job; join() makes it. Use it with `with`: at its end the others
    get to know that the chief is done. After an exception another process becomes the chief."""

    def __init__(self, made: "_distributed.Member") -> None:
        self._made = made

    def __enter__(self) -> "Member":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: "TracebackType | None") -> None:
        if kind is None:
            self._made.finish()
        else:
            self._made.abandon()

    @property
    def is_launched(self) -> bool:
        return self._made.is_launched

    @property
    def name(self) -> str:
        """The name of this process in the job, such as "trainer_1"; "" if it is alone. Processes
        join and leave, so they have no ranks."""
        return self._made.name

    @property
    def trainers(self) -> int:
        """The number of processes that share the steps of an epoch at the start, for schedules."""
        return self._made.trainers

    @property
    def is_chief(self) -> bool:
        """Whether this process tests and saves: one of those that have trained."""
        return self._made.is_chief

    def trainer(self, loss: Value, optimizer: Optimizer, metrics: Sequence[Metric] | None = None,
                **options: Any) -> Trainer:
        """A Trainer of this job: with all-reduce of the gradients, or parameters on servers. A
        Value that is the result of a table on servers must not be used any more. Call it once.

        Raises:
            UsageError: for options that the mode does not support
        """
        made = _core.TrainerOptions(loss, optimizer, metrics, **options)
        return _core.make_trainer(self._made.distribute(loss.program, made), self._made)

    def train(self, trainer: Trainer, batches: Batches, *, epochs: int = 1,
              after_step: Callable[[int, float], object] | None = None) -> None:
        """Trains until the processes together have trained all epochs; each batch is trained by one
        of them. The batches and the epochs must be equal in all processes. Call it once.

        Args:
            after_step: called with the number of the step of this process, from 1, and its loss

        Raises:
            IoError: if servers or the master do not answer for minutes
        """
        self._made.train(trainer, batches, epochs, after_step)

    def save(self, trainer: Trainer, directory: str | os.PathLike[str], *,
             inputs: Sequence[Value] = (), outputs: Sequence[Value] = (),
             labels: Sequence[str] = (), target: str = "") -> bool:
        """Saves the model, for the chief. Fetches tables from servers first; afterwards the Trainer
        cannot train. Returns False if the tables are too large: they are in the checkpoints."""
        options = _core.SaveOptions(inputs=inputs, outputs=outputs, labels=list(labels),
                                    target=target)
        return self._made.save(trainer, os.fspath(directory), options)


def join(distribution: str | Distribution | Mapping[str, Any] = "all_reduce", *,
         checkpoints: str = "", exports: str = "") -> Member:
    """Makes this process a member of the job that started it, or of a job of one process.

    Args:
        distribution: a mode, "all_reduce", "synchronous", "asynchronous" or "geo"; or a
            Distribution with all settings
        checkpoints: the folder of the parameter servers; default: NAME-checkpoints
        exports: their folder for exports, if export_seconds is above 0; default: NAME-exports

    Raises:
        UsageError: for options that do not match each other or the servers of the job
        IoError: if the job does not answer
        ImportError: if Trireme was built without training by several processes
    """
    from trireme import _distributed

    if isinstance(distribution, str):
        distribution = {"mode": distribution}
    how = _core.DistributionOptions(distribution)
    return Member(_distributed.Member(how, checkpoints, exports))


_ERRORS = {2: errors.UsageError, 3: errors.DataError, 4: errors.IoError, 5: errors.NumericError}


def _words(job: str | os.PathLike[str] | Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The arguments of `trireme launch` for a job file or a program."""
    words = [os.fspath(job)] if isinstance(job, (str, os.PathLike)) else list(job)
    if len(words) == 1 and words[0].endswith(".toml"):
        if arguments:
            raise errors.UsageError("launch: arguments are for programs; a job file takes set=")
        return words
    if words[0].endswith(".py"):
        words.insert(0, sys.executable)
    return ["--program", words[0], "--", *words[1:], *arguments]


def launch(job: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any], *,
           trainers: int | str = 2, servers: int = 0, masters: int = 0, threads: int = 0,
           restarts: int | None = None, name: str = "", output: str = "",
           set: Mapping[str, Any] | Sequence[str] = (), arguments: Sequence[str] = (),
           options: Sequence[str] = ()) -> None:
    """Runs a job by several processes and waits for its end, as `trireme launch` does. The lines of
    the processes appear on stdout and stderr.

    Args:
        job: a job file ("clicks.toml"), a dict as for tr.jobs.Job, a Python script ("train.py"),
            or another program with its arguments
        trainers: their number, or "2:4": four, and the job continues with two or three
        servers: parameter servers, for the modes that need them
        masters: 2 or more: one leads and the others stand by
        threads: of each trainer
        restarts: the maximum number of restarts of failed processes
        output: the folder of the saved model of a job file
        set: changes of a job file: {"train.epochs": 2}
        arguments: of the program
        options: other options of `trireme launch`

    Raises:
        Error: if the job fails: a UsageError, DataError, IoError or NumericError
        NotFoundError: if there is no command `trireme`
    """
    if isinstance(job, Mapping):
        # Here, because the file names of a job are relative to its own folder.
        with tempfile.NamedTemporaryFile("w", prefix=".job-", suffix=".toml", dir=".",
                                         encoding="utf-8") as file:
            file.write(jobs.toml(job))
            file.flush()
            folder = output or job.get("output", {}).get("directory", "") or name or "job"
            launch(os.path.basename(file.name), trainers=trainers, servers=servers,
                   masters=masters, threads=threads, restarts=restarts, name=name or "job",
                   output=folder, set=set, options=options)
        return
    command = [program(), "launch", "--trainers", str(trainers), "--servers", str(servers)]
    for flag, value in (("--masters", masters), ("--threads", threads), ("--name", name),
                        ("--output", output)):
        if value:
            command += [flag, str(value)]
    if restarts is not None:
        command += ["--restarts", str(restarts)]
    for setting in jobs.settings(set):
        command += ["--set", setting]
    command += [*options, *_words(job, arguments)]
    with subprocess.Popen(command) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()  # a terminal interrupts the launcher, too, which ends the others
            raise
    if code != 0:
        raise _ERRORS.get(code, errors.Error)(
            f"the job ended with code {code}: see its lines above")
