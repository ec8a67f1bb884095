"""Layers, initializers and activations, and recurrent steps of your own."""

from collections.abc import Callable

from trireme._core import Initializer, Step, Value, run_rnn
from trireme._made import nn as _made
from trireme._made.nn import *  # noqa: F403
from trireme._made.records import ParameterSettings, RelativePositions, Rotary

__all__ = ["Initializer", "ParameterSettings", "RelativePositions", "Rotary", "Step", "rnn"]
__all__ += _made.__all__


def rnn(step: Callable[[Step], None], *, reverse: bool = False,
        over: Value | None = None) -> tuple[list[Value], list[Value]]:
    """Runs a step along sequences of different lengths, without padding.

    The function `step` is called once, with a Step, to build the Program. Returns the outputs,
    [rows, ...], and the states after the last step of each sequence, [n, ...]. As a decorator it
    replaces the function by these.

        @tr.nn.rnn
        def run(step):
            h = step.state(width=32)
            new = tr.nn.linear(tr.concat([step.input(x), h], axis=1), 32, activation="tanh")
            step.update(h, new)
            step.output(new)
        outputs, states = run

    Args:
        reverse: from the last row of each sequence to the first
        over: a value of the sequences to run along, if not those of the first step.input()
    """
    outputs, states = run_rnn(step, reverse=reverse, over=over)
    return outputs, states
