"""Inputs, and the Program that they belong to."""

import threading
from collections.abc import Sequence

from trireme._core import DType, Program, Value, f32


class _Current(threading.local):
    """The Program that a thread is building. A Model ends it."""

    program: Program | None = None


_current = _Current()


def end_program(program: Program) -> None:
    """The next Input begins a new Program."""
    if _current.program == program:
        _current.program = None


def Input(shape: Sequence[int | str] | int = (), *, dtype: DType = f32, name: str | None = None,
          levels: int = 0, program: Program | None = None) -> Value:
    """An input of a network, [batch, *shape].

    The first Input begins a Program, and the following ones belong to it until a Model is made.

    Args:
        shape: of one example; of one row if the input is ragged
        name: "input", "input_1" and so on if it is not given
        levels: 1 for sequences of different lengths, 2 for sequences of sequences
        program: adds the input to this Program instead
    """
    if program is None:
        if _current.program is None:
            _current.program = Program()
        program = _current.program
    if name is None:
        number = 0
        while program.find("input" if number == 0 else f"input_{number}") is not None:
            number += 1
        name = "input" if number == 0 else f"input_{number}"
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    outer = ("batch", *(f"level_{i}" for i in range(1, levels)))
    return program.input(name, dtype, (*outer, *dims), levels=levels)
