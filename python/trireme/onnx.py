"""Models of ONNX as Programs, and saved models as models of ONNX.

    imported = tr.onnx.import_model("resnet18.onnx")
    session = imported.session()
    y, = session.run({"x": images}, imported.program.outputs)

    tr.onnx.export_model(model, "model.onnx")
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trireme._core import Program, SavedModel, Session, load_model, save_model
from trireme.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trireme import _onnx

__all__ = ["ImportedModel", "export_bytes", "export_model", "import_bytes", "import_model"]

Path = str | os.PathLike[str]


@dataclass
class ImportedModel:
    """A Program with the outputs of a model, and its parameters.

    Attributes:
        program: its outputs are those of the model
        state: values of the parameters, by name
        inputs: their names in the Program, in the order of the model
        outputs: their names, in the order of the model
        warnings: what may differ from the model
    """

    program: Program
    state: dict[str, "NDArray[Any]"]
    inputs: list[str]
    outputs: list[str]
    warnings: list[str]

    def session(self, **options: Any) -> Session:
        """A Session with these parameters; `options` are those of tr.Session."""
        session = Session(self.program, **options)
        session.load_state_dict(self.state)
        return session

    def save(self, directory: Path, *, labels: Sequence[str] = ()) -> None:
        """Saves the model for tr.load_model(), C++ and the command line."""
        save_model(self.program, self.session(), os.fspath(directory),
                   inputs=[value for name in self.inputs
                           if (value := self.program.find(name)) is not None],
                   outputs=self.program.outputs, output_names=self.outputs, labels=list(labels))


def import_model(path: Path, *, constants: Mapping[str, Any] | None = None,
                 sequences: Mapping[str, Sequence[Any]] | None = None,
                 shapes: Mapping[str, Sequence[int | str]] | None = None,
                 sizes: Mapping[str, int] | None = None, max_bytes: int = 0,
                 max_nodes: int = 1_000_000, trainable: bool = True) -> ImportedModel:
    """Reads a model of opsets 7 to 28.

    Args:
        path: the file; numbers in other files are read from its folder
        constants: values of inputs by name, which the Program then has no longer, such as the
            second input of Reshape
        sequences: the same for inputs that are sequences of arrays
        shapes: shapes of inputs by name, instead of those of the model
        sizes: sizes of symbols by name, instead of leaving them to the run
        max_bytes: memory of numbers that are computed now; 0: no limit
        max_nodes: nodes that are read, with each step of a loop that is unrolled
        trainable: floats among the initializers become trainable parameters

    Raises:
        UsageError: lists all nodes that cannot be imported, with what is missing
        DataError: for a file that is damaged or no model of ONNX
        NotFoundError: if there is no such file
    """
    from trireme import _onnx
    options = _onnx.ImportOptions(constants or {}, sequences or {}, shapes or {}, sizes or {},
                                  max_bytes, max_nodes, trainable)
    return _imported(_onnx.import_model(os.fspath(path), options))


def import_bytes(content: bytes, *, constants: Mapping[str, Any] | None = None,
                 sequences: Mapping[str, Sequence[Any]] | None = None,
                 shapes: Mapping[str, Sequence[int | str]] | None = None,
                 sizes: Mapping[str, int] | None = None, max_bytes: int = 0,
                 max_nodes: int = 1_000_000, trainable: bool = True) -> ImportedModel:
    """Reads the bytes of a file as import_model(). Numbers in other files are an error."""
    from trireme import _onnx
    options = _onnx.ImportOptions(constants or {}, sequences or {}, shapes or {}, sizes or {},
                                  max_bytes, max_nodes, trainable)
    return _imported(_onnx.import_bytes(content, options))


def export_model(model: Model | SavedModel | Path, path: Path, *, opset: int = 18) -> None:
    """Writes a model as a model of ONNX: its inputs and outputs by name, symbols as open sizes,
    and parameters as initializers.

    Args:
        model: a Model, a saved model or its folder
        path: the file; readers see the old one or the new one
        opset: version of ONNX's operators, 18 to 27

    Raises:
        UsageError: lists all ops that cannot be written
    """
    from trireme import _onnx
    _onnx.export_model(_saved(model), os.fspath(path), opset)


def export_bytes(model: Model | SavedModel | Path, *, opset: int = 18) -> bytes:
    """The bytes of the file that export_model() writes."""
    from trireme import _onnx
    return _onnx.export_bytes(_saved(model), opset)


def _imported(model: "_onnx.ImportedModel") -> ImportedModel:
    return ImportedModel(model.program, model.state, model.inputs, model.outputs, model.warnings)


def _saved(model: Model | SavedModel | Path) -> SavedModel:
    if isinstance(model, SavedModel):
        return model
    if not isinstance(model, Model):
        return load_model(model)
    with tempfile.TemporaryDirectory() as folder:
        model.save(os.path.join(folder, "model"))
        return load_model(os.path.join(folder, "model"))
