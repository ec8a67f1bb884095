#!/usr/bin/env python3
"""Immediate mode side by side with PyTorch and JAX, where they are installed.

    PYTHONPATH=build/release/python build/venv/bin/python benchmarks/arrays.py [--rounds 7]

A script as a newcomer writes it: arrays, a loss, its gradient, 1,000 steps of descent on a small
regression (64 x 8). `eager` calls the gradient function as it stands, `compiled` through the
library's jit. Also the time of one op of a chain of 12, and how many kernels it becomes. Prints
microseconds per step, the median of the rounds, which take turns."""

import argparse
import importlib.util
import statistics
import time

import numpy as np

STEPS, ROWS, COLUMNS = 1000, 64, 8


def data():
    choose = np.random.default_rng(7)
    x = choose.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = x @ np.arange(COLUMNS, dtype=np.float32) + 1
    return x, y


def with_trireme(compiled):
    import trireme as tr
    x, y = (tr.array(numbers) for numbers in data())

    def loss(w, b):
        error = x @ w + b - y
        return (error * error).mean()

    gradient = tr.value_and_grad(loss, argnums=(0, 1))

    def step(w, b):
        value, (dw, db) = gradient(w, b)
        return value, w - 0.1 * dw, b - 0.1 * db

    step = tr.jit(step) if compiled else step

    def run():
        w, b = tr.zeros(COLUMNS), tr.zeros(())
        for _ in range(STEPS):
            value, w, b = step(w, b)
        return value.item(), w.numpy()

    return run


def with_torch(compiled):
    import torch
    x, y = (torch.from_numpy(numbers) for numbers in data())

    def run():
        w = torch.zeros(COLUMNS, requires_grad=True)
        b = torch.zeros((), requires_grad=True)
        for _ in range(STEPS):
            error = x @ w + b - y
            value = (error * error).mean()
            value.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                b -= 0.1 * b.grad
                w.grad = b.grad = None
        return value.item(), w.detach().numpy()

    return None if compiled else run


def with_jax(compiled):
    import jax
    import jax.numpy as jnp
    x, y = (jnp.asarray(numbers) for numbers in data())

    def loss(w, b):
        error = x @ w + b - y
        return (error * error).mean()

    gradient = jax.value_and_grad(loss, argnums=(0, 1))

    def step(w, b):
        value, (dw, db) = gradient(w, b)
        return value, w - 0.1 * dw, b - 0.1 * db

    step = jax.jit(step) if compiled else step

    def run():
        w, b = jnp.zeros(COLUMNS), jnp.zeros(())
        for _ in range(STEPS):
            value, w, b = step(w, b)
        return float(value), np.asarray(w)

    return run


def time_of_op(rounds):
    """Microseconds for one op of a chain of 12, with its run, and the kernels of the run."""
    import trireme as tr
    x = tr.ones(16)

    def chain():
        y = x
        for _ in range(6):
            y = tr.sin(y) + 1.0
        return y.eval()

    chain()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(500):
            chain()
        times.append((time.perf_counter() - start) / 500 / 12 * 1e6)
    return statistics.median(times), tr._core.array_statistics()["kernels"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    cases = {}
    for name, make in [("trireme", with_trireme), ("torch", with_torch), ("jax", with_jax)]:
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed")
            continue
        for kind, compiled in [("eager", False), ("compiled", True)]:
            case = make(compiled)
            if case is not None:
                cases[f"{name} {kind}"] = case
    times = {name: [] for name in cases}
    for name, case in cases.items():
        value, w = case()  # compiles
        assert np.allclose(w, np.arange(COLUMNS), atol=1e-3), (name, value, w)
    for _ in range(rounds):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            times[name].append((time.perf_counter() - start) / STEPS * 1e6)
    for name, measured in times.items():
        print(f"{name}: {statistics.median(measured):.1f} us per step")
    op, kernels = time_of_op(rounds)
    print(f"one op of a chain of 12: {op:.2f} us, {kernels} kernel")


if __name__ == "__main__":
    main()
