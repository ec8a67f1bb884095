#!/usr/bin/env python3
"""Compares functions at special points with PyTorch, and prints the table of the edge suite.

usage: edges.py CASES

CASES has one JSON object per line, which the program `edges` writes: a function in one dtype, its
operands, weights, results and gradients. PyTorch computes the same in double; its results, rounded
to the dtype, are what is expected. Where steps of a function overflow f32, PyTorch's result in f32
counts as well. explained.py lists what differs on purpose.

The exit status is 0 only if every difference is explained and every explanation is needed.
"""

import json
import math
import os
import sys

import numpy
import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../conformance"))
import exact  # noqa: E402  in this folder
import explained  # noqa: E402
import measures  # noqa: E402
import training  # noqa: E402
import formulas  # noqa: E402  of the conformance suite

WIDE = {"boolean": torch.bool, "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8,
        "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f32": torch.float64,
        "f64": torch.float64, "bf16": torch.float64, "f16": torch.float64}
NARROW = dict(WIDE, f32=torch.float32, bf16=torch.float32, f16=torch.float32)
HELD = dict(WIDE, f32=torch.float32, bf16=torch.bfloat16, f16=torch.float16)
# The relative tolerance and the smallest normal number of each dtype. Below that number results
# may be rounded to zero. 16-bit results were rounded to f32 first.
TOLERANCE = {"f64": (1e-13, 2.3e-308), "f32": (1e-5, 1.2e-38), "bf16": (2**-7, 1.2e-38),
             "f16": (2**-10, 6.2e-5)}
SHOWN = 6  # unexplained differences of a function


def numbers(record):
    return numpy.array(record["data"].split(), dtype=numpy.float64).reshape(record["shape"])


def compute(case, dtypes):
    """Returns PyTorch's results and gradients in these dtypes."""
    x = [torch.from_numpy(numbers(r)).to(dtypes[r["dtype"]]) for r in case["operands"]]
    for operand in x:
        if case["weights"] and operand.is_floating_point():
            operand.requires_grad_(True)
    names = {"torch": torch, "F": F, "math": math, "numpy": numpy, "formulas": formulas,
             "exact": exact, "measures": measures, "training": training, "x": x}
    for name, value in case["attributes"].items():
        names[name] = dtypes[value["dtype"]] if isinstance(value, dict) else value
    try:
        got = eval(case["torch"], names)
    except RuntimeError as error:
        if "ZeroDivision" not in str(error):
            raise
        # Integers divided by zero give zero.
        names["x"] = [x[0], x[1] + (x[1] == 0)]
        got = torch.where(x[1] == 0, 0 * x[0], eval(case["torch"], names))
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    if not case["gradients"]:
        return got, []
    floats = [y for y in got if y.is_floating_point()]
    loss = sum((y * torch.from_numpy(numbers(w)).to(y.dtype)).sum()
               for y, w in zip(floats, case["weights"]))
    if loss.requires_grad:
        loss.backward()
    return got, [torch.zeros_like(o) if o.grad is None else o.grad
                 for o in x if o.is_floating_point()]


def rounded(tensor, dtype):
    """As the dtype holds it, in double."""
    return tensor.detach().to(HELD[dtype]).double().numpy()


def differs(got, expected, dtype, signs):
    """Elementwise. Errors are relative to the largest number of a row."""
    relative, smallest = TOLERANCE.get(dtype, (0, 0))
    size = numpy.where(numpy.isfinite(expected), numpy.abs(expected), 0)
    if expected.ndim > 1 and expected.size:
        size = numpy.broadcast_to(size.max(axis=-1, keepdims=True), size.shape)
    with numpy.errstate(invalid="ignore", over="ignore"):
        close = numpy.abs(got - expected) <= relative * size + smallest
    same = (got == expected) | (numpy.isnan(got) & numpy.isnan(expected))
    both = numpy.isfinite(got) & numpy.isfinite(expected)
    right = same | (both & close)
    if signs:
        right &= ~((got == 0) & (expected == 0) & (numpy.signbit(got) != numpy.signbit(expected)))
    return ~right


def in_f32_too(case):
    """Whether PyTorch's results in f32 count as well, and differ from those in double."""
    return case["as_f32"] and any(WIDE[r["dtype"]] != NARROW[r["dtype"]] for r in case["operands"])


class Row:
    """One function of the table."""

    def __init__(self):
        self.dtypes, self.points, self.narrow, self.explained = [], 0, 0, 0
        self.unexplained = []

    def add(self, case):
        if case["dtype"] not in self.dtypes:
            self.dtypes.append(case["dtype"])
        try:
            wide = compute(case, WIDE)
            narrow = compute(case, NARROW) if in_f32_too(case) else wide
        except (RuntimeError, IndexError, ValueError) as error:
            if any(0 in r["shape"] for r in case["operands"]):
                return  # PyTorch refuses some empty operands
            self.unexplained.append(f"{case['function']}: PyTorch: {error}")
            return
        operands = [numbers(r) for r in case["operands"]]
        for kind, parts in enumerate(("results", "gradients")):
            if len(case[parts]) != len(wide[kind]):
                self.unexplained.append(f"{case['function']}: {len(case[parts])} {parts}, "
                                        f"but {len(wide[kind])} in PyTorch")
                continue
            for i, record in enumerate(case[parts]):
                self.compare(case, f"{parts[:-1]} {i}", record, wide[kind][i], narrow[kind][i],
                             operands, signs=kind == 0 and case["signs"])

    def compare(self, case, part, record, wide, narrow, operands, signs):
        got, dtype = numbers(record), record["dtype"]
        if list(wide.shape) != record["shape"]:
            self.unexplained.append(f"{case['function']}: {part} has shape {record['shape']}, "
                                    f"PyTorch's {list(wide.shape)}")
            return
        expected = rounded(wide, dtype)
        self.points += got.size
        wrong = differs(got, expected, dtype, signs)
        as_narrow = wrong & ~differs(got, rounded(narrow, dtype), dtype, signs)
        self.narrow += int(as_narrow.sum())
        for index in numpy.argwhere(wrong & ~as_narrow):
            index = tuple(index)
            x = [operand[index[0]].tolist() for operand in operands]  # a number or a list each
            seen = (float(got[index]), float(expected[index]))
            if explained.find(case["function"], part, x, *seen):
                self.explained += 1
                continue
            self.unexplained.append(f"{case['function']} in {case['dtype']} at {x}: {part} is "
                                    f"{seen[0]!r}, PyTorch's {seen[1]!r}")


def main():
    torch.set_num_threads(1)
    rows = {}
    with open(sys.argv[1], encoding="utf-8") as cases:
        for line in cases:
            case = json.loads(line)
            rows.setdefault(case["function"], Row()).add(case)
    print(f"{'function':28} {'points':>8} {'as f32':>8} {'explained':>10} {'unexplained':>12}  dtypes")
    for name, row in rows.items():
        print(f"{name:28} {row.points:8} {row.narrow:8} {row.explained:10} "
              f"{len(row.unexplained):12}  {' '.join(row.dtypes)}")
    for row in rows.values():
        for text in row.unexplained[:SHOWN]:
            print("FAIL", text)
    unexplained = sum(len(row.unexplained) for row in rows.values())
    unused = [] if len(rows) < 10 else explained.unused()
    for rule in unused:
        print("FAIL: nothing needs the explanation:", rule)
    print(f"\n{len(rows)} functions, {sum(row.points for row in rows.values())} numbers, "
          f"{sum(row.narrow for row in rows.values())} as PyTorch in f32, "
          f"{sum(row.explained for row in rows.values())} differences explained, "
          f"{unexplained} unexplained")
    sys.exit(bool(unexplained or unused))


if __name__ == "__main__":
    main()
