#!/usr/bin/env python3
"""Computes the cases of the conformance suite with PyTorch, as an independent reference.

usage: torch_reference.py CASES ANSWERS

CASES has one JSON object per line: op, torch_reference (a Python expression of x[0], x[1] ... and
the names of the attributes), operands, results, weights and gradients. Everything is computed in
double precision, as in Trireme's reference. ANSWERS gets one line per case and kind:
    <op> values|gradients <largest error> [failure]
"""

import json
import math
import sys

import numpy
import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
import formulas  # noqa: E402  in this folder
import modules  # noqa: E402
import sequences  # noqa: E402

DTYPES = {"boolean": torch.bool, "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8,
          "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f32": torch.float64, "f64": torch.float64,
          "bf16": torch.bfloat16, "f16": torch.float16}
TOLERANCE = 1e-9  # both sides compute in double precision


def tensor(record):
    data = numpy.array(record["data"].split(), dtype=numpy.float64)
    return torch.from_numpy(data).reshape(record["shape"]).to(DTYPES[record["dtype"]])


def attribute(value):
    return DTYPES[value["dtype"]] if isinstance(value, dict) else value


def distance(got, expected):
    """The same as distance() in checks.cc."""
    if got.shape != expected.shape:
        return math.inf
    if got.numel() == 0:
        return 0.0
    a, b = got.detach().double(), expected.double()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((same | (a.isfinite() & b.isfinite())).all()):
        return math.inf
    finite = b[b.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    least = min(1.0, largest) if largest > 0 else 1.0
    error = (a - b).abs() / b.abs().clamp(min=least)
    return float(torch.where(same, torch.zeros_like(error), error).max())


def result_line(case, kind, pairs, tolerance):
    worst, failure = 0.0, ""
    for name, got, expected in pairs:
        error = distance(got, expected)
        worst = max(worst, error)
        if not error <= tolerance and not failure:
            failure = (f"{case['label']}: {name}: PyTorch returns {list(got.shape)} "
                       f"{got.flatten()[:6].tolist()}, Trireme's reference {list(expected.shape)} "
                       f"{expected.flatten()[:6].tolist()}")
    return f"{case['op']} {kind} {worst} {failure}".replace("\n", " ")


def compute(case):
    """Yields the lines of one case.

    The expressions take images as N, C, H, W. Trireme's images may be N, H, W, C (layout "nhwc"),
    but its weights never are.
    """
    x = [tensor(record) for record in case["operands"]]
    nhwc = case["attributes"].get("layout") == "nhwc"
    returns_weight = case["op"].endswith("weight_gradient")
    wants_gradients = bool(case["weights"])
    if wants_gradients:
        for operand in x:
            if operand.is_floating_point():
                operand.requires_grad_(True)
    names = {"torch": torch, "F": F, "math": math, "numpy": numpy, "formulas": formulas,
             "modules": modules, "sequences": sequences, "x": x}
    if nhwc:
        names["x"] = [operand if name == "weight" else operand.movedim(-1, 1)
                      for name, operand in zip(case["names"], x)]
    names.update((name, attribute(value)) for name, value in case["attributes"].items())
    try:
        got = eval(case["torch_reference"], names)
    except (RuntimeError, IndexError):
        if all(operand.numel() for operand in x):
            raise
        return  # PyTorch rejects some empty operands that Trireme accepts
    got = list(got) if isinstance(got, (tuple, list)) else [got]
    if nhwc and not returns_weight:
        got = [result.movedim(1, -1) for result in got]
    # The expression may omit results, such as the positions of max_pool. Other ops' cases check
    # them.
    expected = [tensor(record) for record in case["results"]]
    pairs = [(f"result {i}", g, e) for i, (g, e) in enumerate(zip(got, expected))]
    yield result_line(case, "values", pairs, TOLERANCE)
    if not wants_gradients:
        return
    loss = sum((g * tensor(w)).sum() for g, w in zip(got, case["weights"]) if w)
    if loss.requires_grad:
        loss.backward()
    pairs = []
    for i, (operand, record) in enumerate(zip(x, case["gradients"])):
        if record:
            gradient = torch.zeros_like(operand) if operand.grad is None else operand.grad
            pairs.append((f"the gradient with respect to x[{i}]", gradient, tensor(record)))
    yield result_line(case, "gradients", pairs, TOLERANCE)


def main():
    torch.set_num_threads(1)
    with open(sys.argv[1], encoding="utf-8") as cases, \
            open(sys.argv[2], "w", encoding="utf-8") as answers:
        for line in cases:
            case = json.loads(line)
            try:
                lines = list(compute(case))
            except Exception as error:  # a failed expression is a failed case
                text = f"{type(error).__name__}: {error}".replace("\n", " ")
                lines = [f"{case['op']} values inf {case['label']}: {text}"]
            answers.write("".join(text + "\n" for text in lines))


if __name__ == "__main__":
    main()
