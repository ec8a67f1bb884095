"""Trireme: deep learning on ragged, sparse and large data."""

from trireme import errors, ops
from trireme._core import (DType, Program, Session, Value, bf16, boolean, f16, f32, f64, i32, i64,
                           u8)
from trireme.errors import Error

__all__ = ["DType", "Error", "Program", "Session", "Value", "bf16", "boolean", "errors", "f16",
           "f32", "f64", "i32", "i64", "ops", "u8"]
