"""Trireme: deep learning on ragged, sparse and large data.

    import trireme as tr

    image = tr.Input((28, 28), name="image")
    x = tr.nn.linear(tr.nn.flatten(image), 100, activation="relu")
    model = tr.Model(image, tr.nn.linear(x, 10))
    model.compile("adam", "cross_entropy", metrics=["accuracy"])
    model.fit(images, labels, epochs=2)
"""

from trireme import (arrays, callbacks, compression, data, datasets, distributed, errors, io, jobs,
                     losses, metrics, nn, onnx, ops, optim, random, schedules, sequence)
from trireme._core import (DType, Program, Session, Trainer, Value, bf16, boolean, f16, f32, f64,
                           i8, i16, i32, i64, minimize, u8, u16, u32, u64)
from trireme._made.ops import *  # noqa: F403
from trireme.arrays import *  # type: ignore[assignment]  # noqa: F403
from trireme.data import Dataset
from trireme.errors import Error
from trireme.inputs import Input
from trireme.io import load_model, save_model
from trireme.model import History, Model
from trireme.optim import Schedule

__all__ = ["DType", "Dataset", "Error", "History", "Input", "Model", "Program", "Schedule",
           "Session", "Trainer", "Value", "bf16", "boolean", "callbacks", "compression", "data", "datasets",
           "distributed", "errors", "f16", "f32", "f64", "i16", "i32", "i64", "i8", "io", "jobs", "load_model",
           "losses", "metrics", "minimize", "nn", "onnx", "ops", "optim", "save_model", "schedules", "sequence", "u16",
           "u32", "u64", "u8"]
__all__ += ["random", *ops.__all__, *arrays.__all__]
