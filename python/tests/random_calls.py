"""Calls every function of the package with random arguments. Each call returns or raises an
exception of a known kind; nothing else may happen.

    random_calls.py [CALLS [SEED]]
"""

import inspect
import math
import random
import resource
import sys

import numpy as np

import trireme as tr

MODULES = [tr.ops, tr.nn, tr.losses, tr.metrics, tr.sequence, tr.optim, tr.schedules]
EXPECTED = (tr.Error, TypeError, ValueError, OverflowError, MemoryError)


class World:
    """Values of several dtypes and shapes in a Program, and other objects."""

    def __init__(self, choose):
        self.choose = choose
        self.program = tr.Program("random")
        make = self.program.input
        self.values = [
            make("x", tr.f32, ("batch", 4)), make("y", tr.f64, ("batch", 4)),
            make("image", tr.f32, ("batch", 3, 8, 8)), make("ids", tr.i64, ("batch",)),
            make("mask", tr.boolean, ("batch", 4)), make("scalar", tr.f32, ()),
            make("empty", tr.f32, (0, 4)), make("half", tr.f16, ("batch", 4)),
            make("words", tr.f32, ("batch", 5), levels=1), make("square", tr.f32, (3, 3)),
            tr.Program("other").input("x", tr.f32, ("batch", 4)),
            tr.ones((2, 4)), tr.arange(3), tr.zeros((0, 4)) + 1, tr.array(math.nan)]

    def argument(self, depth=0):
        choose = self.choose
        kind = choose.randrange(16 if depth < 2 else 12)
        if kind < 5:
            return choose.choice(self.values)
        if kind < 8:
            return choose.choice([0, 1, 2, 3, 4, -1, -2, 2**31, -2**63, 2**70, True, False])
        if kind < 10:
            return choose.choice([0.0, 0.5, -1.5, 1e300, math.nan, math.inf, -math.inf])
        if kind < 12:
            return choose.choice(["relu", "mean", "batch", "", "same", "\0", "x" * 1000, None,
                                  tr.f32, tr.i64, np.float32(2), np.zeros((2, 2)), b"bytes", {},
                                  object, tr.nn.zeros(), tr.optim.Clip(norm=1), 3j])
        if kind == 12:
            return lambda *values: self.argument(depth + 1)
        return [self.argument(depth + 1) for _ in range(choose.randrange(4))]


def call_one(function, world, choose):
    arguments, keywords = [], {}
    for parameter in inspect.signature(function).parameters.values():
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if parameter.default is not inspect.Parameter.empty and choose.random() < 0.6:
            if not keyword:
                break
            continue
        if keyword:
            keywords[parameter.name] = world.argument()
        else:
            arguments.append(world.argument())
    try:
        result = function(*arguments, **keywords)
    except EXPECTED:
        return False
    if isinstance(result, tr.Value) and len(world.values) < 60:
        world.values.append(result)
    return True


def main(calls=2000, seed=1):
    # Some calls want more memory than any machine has: that must be an error, too.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    choose = random.Random(seed)
    functions = [getattr(module, name) for module in MODULES for name in module.__all__]
    functions = [function for function in functions if inspect.isfunction(function)]
    world = World(choose)
    accepted = 0
    for i in range(calls):
        if i % 200 == 199:
            world = World(choose)
        accepted += call_one(choose.choice(functions), world, choose)
    print(f"{calls} calls of {len(functions)} functions, {accepted} accepted")
    return accepted


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
