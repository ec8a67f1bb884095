"""Models: a network with its training."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trireme import metrics, ops, optim
from trireme._core import (Batches, Dataset, Metric, Optimizer, Program, Session, Trainer, Value,
                           f32, i64, loss_task, named_loss, save_model)
from trireme.callbacks import Callback, Calls, Logs, NativeCallback
from trireme.data import as_array, column_of, from_arrays, is_frame, ragged_columns
from trireme.errors import UsageError
from trireme.history import History
from trireme.inputs import end_program
from trireme.notebook import table
from trireme.progress import Progress
from trireme.stream import fit_stream, is_stream

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

Loss = str | Callable[[Value, Value], Value]
MetricLike = str | Callable[[Value, Value], Metric]

__all__ = ["History", "Model"]


def _list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


class Model:
    """A network from its inputs to its outputs.

        image = tr.Input((28, 28), name="image")
        model = tr.Model(image, tr.nn.linear(tr.nn.flatten(image), 10))
        model.compile("adam", "cross_entropy", metrics=["accuracy"])
        model.fit(images, labels, batch_size=64, epochs=2)

    Args:
        inputs: an Input, or a list of them
        outputs: a Value, or a list of them
    """

    def __init__(self, inputs: Value | Sequence[Value], outputs: Value | Sequence[Value]) -> None:
        self._input_names = [v.name.removeprefix("%") for v in _list(inputs)]
        values = _list(outputs)
        if not values or not self._input_names:
            raise UsageError("Model: a network needs at least one input and one output")
        self._single = not isinstance(outputs, (list, tuple))
        self._program: Program = values[0].program
        self._program.set_outputs(values)
        end_program(self._program)
        self._compiled: Program = self._program  # with the loss and the updates after compile()
        self._outputs = values
        self._target: Value | None = None
        self._trainer: Trainer | None = None
        self._own_session: Session | None = None
        self.stop_training = False

    @property
    def program(self) -> Program:
        """The Program; after compile() with the loss and the updates."""
        return self._compiled

    @property
    def inputs(self) -> list[Value]:
        found = [self._compiled.find(name) for name in self._input_names]
        return [value for value in found if value is not None]

    @property
    def outputs(self) -> list[Value]:
        return list(self._outputs)

    @property
    def target(self) -> Value:
        """The input of the target, after compile()."""
        self._need_trainer("target")
        assert self._target is not None
        return self._target

    @property
    def session(self) -> Session:
        """The Session that owns the parameters."""
        if self._trainer is not None:
            return self._trainer.session
        if self._own_session is None:
            self._own_session = Session(self._compiled)
        return self._own_session

    # --- Training -------------------------------------------------------------------------------

    def compile(self, optimizer: str | Optimizer = "adam", loss: Loss | None = None,
                metrics: Sequence[MetricLike] = (), *, target: str = "target",
                **options: Any) -> None:
        """Adds a loss and an optimizer. A second call replaces them and keeps the parameters.

        Args:
            optimizer: one of tr.optim, or its name: "adam"
            loss: a name of a loss of tr.losses, or a function of the output and the target that
                returns a Value; its mean is minimized
            metrics: names of tr.metrics, or functions of the output and the target
            target: the name of the target, for data sets with named columns
            options: of the Session and the updates: seed, threads, precision, accumulate, average
        """
        if loss is None:
            raise UsageError('Model.compile: a loss is missing\n  hint   "cross_entropy" for '
                             'classes, "binary_cross_entropy" for yes or no, "mse" for numbers')
        weights = self.get_weights() if self._started() else None
        program = self._program.clone()
        outputs = program.outputs
        self._target, value = _loss_of(program, outputs[0], loss, target)
        made = [_metric_of(metric, outputs[0], self._target) for metric in metrics]
        optimizer = optim.by_name(optimizer) if isinstance(optimizer, str) else optimizer
        options.setdefault("adjustable_rate", True)
        self._trainer = Trainer(value, optimizer, made, **options)
        self._compiled, self._outputs, self._own_session = program, outputs, None
        if weights is not None:
            self.set_weights(weights)

    def fit(self, x: Any, y: Any = None, *, batch_size: int = 32, epochs: int = 1,
            validation_data: Any = None, validation_split: float = 0.0, shuffle: bool = True,
            seed: int = 1, callbacks: Sequence[Callback | NativeCallback] = (),
            progress: bool = True,
            steps_per_epoch: int | None = None, **options: Any) -> History:
        """Trains the network. Ctrl-C ends it after a step.

        Args:
            x: an array; a list of arrays, or a dict by names, if there are several inputs; a list
                of lists for an input with levels=1; a Dataset with columns of the names of the
                inputs and the target; or an iterable of batches, (x, y) or a dict, such as a
                DataLoader of PyTorch
            y: the target, an array
            steps_per_epoch: batches of an epoch, for an iterable; without it, all
            validation_data: (x, y) or a Dataset, measured after every epoch
            validation_split: the share of the examples, from the end, that is not trained on but
                measured
            shuffle: reads the examples in a different order in every epoch
            progress: shows the progress on stderr
            options: of Trainer.fit: run, resume, max_steps, checkpoint_directory
        """
        trainer = self._need_trainer("fit")
        validation = None
        if validation_data is not None:
            validation = self._dataset(*(validation_data if isinstance(validation_data, tuple)
                                         else (validation_data, None)))
        if y is None and is_stream(x):
            if options:
                raise UsageError(f"Model.fit: {', '.join(options)} cannot be used with an iterable")
            measured = validation.batch(batch_size) if validation else None
            return fit_stream(self, trainer, x, steps_per_epoch, measured, epochs, callbacks,
                              progress)
        dataset = self._dataset(x, y)
        if validation is None and validation_split > 0:
            if validation_split >= 1:
                raise UsageError("Model.fit: validation_split is a share below 1, such as 0.1")
            kept = len(dataset) - int(len(dataset) * validation_split)
            dataset, validation = dataset.take(kept), dataset.skip(kept)
        if shuffle and not dataset.is_forward_only:
            dataset = dataset.shuffle(seed)
        batches = dataset.batch(batch_size)
        called = list(callbacks)
        if progress:
            called.append(Progress(epochs, len(batches)))
        measured = validation.batch(batch_size) if validation else None
        return _fit(self, trainer, batches, measured, epochs, called, options)

    def evaluate(self, x: Any, y: Any = None, *, batch_size: int = 256) -> Logs:
        """The loss and the metrics of data, as for fit()."""
        return self._need_trainer("evaluate").evaluate(self._dataset(x, y).batch(batch_size))

    def predict(self, x: Any, *, batch_size: int = 256) -> Any:
        """The outputs for data: an array, or a list of them if the model has several outputs."""
        import numpy as np

        columns = self._columns(x)
        dataset = from_arrays(columns)
        if len(dataset) == 0:
            parts = [self.session.run(columns, self._outputs)]
        else:
            parts = [self.session.run(feeds, self._outputs) for feeds in dataset.batch(batch_size)]
        joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return joined[0] if self._single else joined

    __call__ = predict

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update. Setting it compiles nothing."""
        self._need_trainer("learning_rate")
        return self.session.learning_rate()

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._need_trainer("learning_rate")
        self.session.set_learning_rate(rate)

    # --- Parameters -----------------------------------------------------------------------------

    def get_weights(self) -> dict[str, Any]:
        """Copies of all parameters by name, without the state of the optimizer."""
        return {name: self.session.parameter(name) for name in self._names()}

    def set_weights(self, weights: Mapping[str, Any], *, strict: bool = True) -> None:
        """Sets parameters by name.

        Raises:
            UsageError: if strict and a name is missing or unknown; for another shape or dtype
        """
        import numpy as np

        names = set(self._names())
        if strict and names != set(weights):
            missing, unknown = sorted(names - set(weights)), sorted(set(weights) - names)
            raise UsageError(f"Model.set_weights: missing are {missing or 'none'}, unknown "
                             f"{unknown or 'none'}\n  hint   strict=False leaves these out")
        for name in names & set(weights):
            self.session.set_parameter(name, np.asarray(weights[name]))

    def state_dict(self) -> dict[str, Any]:
        """Copies of the parameters by name, those of the loss included, as arrays."""
        return self.session.state_dict()

    def load_state_dict(self, tensors: Mapping[str, Any], strict: bool = True, *,
                        layout: str = "trireme",
                        modules: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
        """Sets parameters by name. Loads nothing if there is an error.

        Args:
            tensors: arrays, or tensors of PyTorch on the CPU
            strict: every parameter needs a tensor, and every tensor a parameter
            layout: "trireme", or "torch" for names and shapes of torch.nn.Module.state_dict()
            modules: paths of modules, and the layers that they are: {"encoder":
                "transformer_encoder_0"}; "" is everything

        Returns:
            the missing and the unexpected names

        Raises:
            UsageError: if strict and names do not match; for another shape or dtype
        """
        return self.session.load_state_dict(dict(tensors), strict=strict, layout=layout,
                                            modules=modules or {})

    def save(self, directory: "str | Path", *, labels: Sequence[str] = ()) -> None:
        """Saves the network and its parameters for tr.load_model(), C++ and the command line."""
        target = self._target.name.removeprefix("%") if self._target is not None else ""
        save_model(self._compiled, self.session, str(directory), inputs=self.inputs,
                   outputs=self._outputs, labels=list(labels), target=target)

    def summary(self) -> "Summary":
        """A table of the layers that have parameters: a text, and HTML in a notebook."""
        return Summary(self)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    # --- Inside ---------------------------------------------------------------------------------

    def _started(self) -> bool:
        return self._trainer is not None or self._own_session is not None

    def _names(self) -> list[str]:
        return [value.name.removeprefix("%") for value in self._program.parameters]

    def _need_trainer(self, what: str) -> Trainer:
        if self._trainer is None:
            raise UsageError(f"Model.{what}: the model has no loss yet\n"
                             '  hint   model.compile("adam", "cross_entropy") first')
        return self._trainer

    def _columns(self, x: Any) -> dict[str, "NDArray[Any]"]:
        """Arrays for the inputs."""
        names = self._input_names
        if isinstance(x, Mapping) or (is_frame(x) and set(names) <= set(map(str, x.columns))):
            missing = [name for name in names if name not in x]
            if missing:
                raise UsageError(f"the data lack the inputs {', '.join(missing)}")
            given = [x[name] for name in names]
        else:
            given = list(x) if len(names) > 1 and isinstance(x, (list, tuple)) else [x]
        if len(given) != len(names):
            raise UsageError(f"the model has {len(names)} inputs ({', '.join(names)}), and the "
                             f"data are {len(given)} arrays")
        columns: dict[str, NDArray[Any]] = {}
        for name, data, value in zip(names, given, self.inputs, strict=True):
            if self._compiled.find(name + ".splits") is not None:
                columns |= ragged_columns(name, data, value)
            else:
                columns[name] = column_of(data, value, f'"{name}"')
        return columns

    def batch_of(self, batch: Any) -> dict[str, Any]:
        """The arrays of a batch of an iterable: (x, y), or a dict by names."""
        if isinstance(batch, Mapping):
            inputs = {*self._input_names, self._target_name()}
            return {name: as_array(data) for name, data in batch.items() if name in inputs}
        if not isinstance(batch, (list, tuple)) or len(batch) != 2:
            raise UsageError("a batch of an iterable is (x, y), or a dict by names of inputs")
        assert self._target is not None
        target = column_of(as_array(batch[1]), self._target, "y")
        return {**self._columns(batch[0]), self._target_name(): target}

    def _target_name(self) -> str:
        assert self._target is not None
        return self._target.name.removeprefix("%")

    def _dataset(self, x: Any, y: Any) -> Dataset:
        if isinstance(x, Dataset):
            if y is not None:
                raise UsageError("a Dataset has the target in a column; leave out y")
            return x
        columns = self._columns(x)
        assert self._target is not None
        if y is None:
            raise UsageError("the target y is missing")
        columns[self._target_name()] = column_of(as_array(y), self._target, "y")
        return from_arrays(columns)


class Summary(str):
    """The layers of a Model that have parameters."""

    _rows: list[tuple[str, int, str]]

    def __new__(cls, model: Model) -> "Summary":
        names: dict[str, list[str]] = {}
        counts: dict[str, int] = {}
        for value in model._program.parameters:
            layer, _, name = value.name.removeprefix("%").rpartition(".")
            names.setdefault(layer, []).append(f"{name} {list(value.shape)}")
            counts[layer] = counts.get(layer, 0) + math.prod(map(int, value.shape))
        shapes = ", ".join(f"{v.name} {list(v.shape)}" for v in model.inputs)
        results = ", ".join(str(list(v.shape)) for v in model.outputs)
        rows = [(layer, counts[layer], ", ".join(names[layer])) for layer in names]
        rows.append(("total", sum(counts.values()), f"{shapes} -> {results}"))
        width = max([5, *map(len, names)])
        lines = [f"{'layer':<{width}}  {'numbers':>10}  parameters"]
        lines += [f"{layer:<{width}}  {count:>10,}  {text}" for layer, count, text in rows]
        made = super().__new__(cls, "\n".join(lines))
        made._rows = rows
        return made

    def _repr_html_(self) -> str:
        return table(("layer", "numbers", "parameters"), self._rows)


def _loss_of(program: Program, output: Value, loss: Loss, target: str) -> tuple[Value, Value]:
    """The target, which becomes an input if there is none of this name, and the loss."""
    named = loss if isinstance(loss, str) else None
    task = loss_task(named) if named else "numbers"
    if named and task is None:
        raise UsageError(f'"{named}" is no loss for Model.compile\n  hint   one of '
                         f'{", ".join(loss_task())}; or a function of the output and the target')
    label = program.find(target)
    if label is None:
        classes = task == "classes"
        label = program.input(target, i64 if classes else f32,
                              output.shape[:-1] if classes else output.shape)
    if named:
        value = named_loss(named, output, label)
    else:
        assert callable(loss)
        value = loss(output, label)
    return label, ops.mean(value) if value.shape else value


def _metric_of(metric: MetricLike, output: Value, target: Value) -> Metric:
    if not isinstance(metric, str):
        return metric(output, target)
    if metric not in metrics.NAMES:
        raise UsageError(f'"{metric}" is no metric\n  hint   one of '
                         f'{", ".join(sorted(metrics.NAMES))}')
    made: Metric = getattr(metrics, metric)(output, target)
    return made


def _fit(model: Model, trainer: Trainer, batches: Batches, validation: Batches | None,
         epochs: int, callbacks: list[Callback | NativeCallback],
         options: dict[str, Any]) -> History:
    calls = Calls(model, callbacks)

    def after_epoch(report: dict[str, Any]) -> bool:
        return calls.end_epoch(report["epoch"] - 1, epochs, report["training"],
                               report["validation"])

    calls.begin()
    try:
        trainer.fit(batches, validation, epochs=epochs, progress=False, after_epoch=after_epoch,
                    after_step=calls.step if calls.watched else None, callbacks=calls.native,
                    **options)
    finally:
        calls.end()
    return calls.history
