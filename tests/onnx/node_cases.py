#!/usr/bin/env python3
"""Writes the test cases that the package onnx has for its operators as folders, and runs
onnx_node_cases on them.

    tests/onnx/node_cases.py build/release/bin/onnx_node_cases
    tests/onnx/node_cases.py build/release/bin/onnx_node_cases --table --onnxruntime

Exits with 1 if a case fails, or if one is missing whose operator Trireme should have. --table
prints the cases by operator, --onnxruntime counts also those that ONNX Runtime passes,
--interpreter interprets kernels instead of compiling them.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

# Why a case need not pass, by a part of its name.
LEFT_OUT = {
    "image_decoder": "decoding of images",
    "test_adagrad": "training", "test_adam": "training", "momentum": "training",
}
RANDOM = ("test_bernoulli", "test_training_dropout")


class LeftOut(Exception):
    """A case with values that onnx_node_cases does not read."""


def write_tensor(array, file):
    proto = array if isinstance(array, onnx.TensorProto) else onnx.numpy_helper.from_array(np.asarray(array))
    if proto.data_type == onnx.TensorProto.STRING:
        raise LeftOut("texts")
    file.write_bytes(proto.SerializeToString())
    return file.name


def write_port(folder, way, number, name, value):
    """Writes the files of an input or output; returns its line in case.txt."""
    if value is None:
        raise LeftOut("an optional without a value")
    if isinstance(value, list):
        files = [write_tensor(one, folder / f"{way}_{number}_{i}.pb") for i, one in enumerate(value)]
        return f"{way} {name} sequence {' '.join(files)}"
    return f"{way} {name} tensor {write_tensor(value, folder / f'{way}_{number}.pb')}"


def is_random(name):
    zero = name.startswith("test_training_dropout_zero")
    return name.startswith(RANDOM) and not zero


def write_case(case, folder):
    """Writes the folder of a case; returns why it is left out, or ""."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    lines = [f"{case.rtol or 1e-3} {case.atol or 1e-7} {int(is_random(case.name))}"]
    inputs, outputs = case.data_sets[0]
    try:
        for way, ports, values in (("in", case.model.graph.input, inputs), ("out", case.model.graph.output, outputs)):
            for number, (port, value) in enumerate(zip(ports, values)):
                lines.append(write_port(folder, way, number, port.name, value))
    except LeftOut as reason:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        return str(reason)
    (folder / "case.txt").write_text("\n".join(lines) + "\n")
    return ""


def operator_of(case):
    """The operator that a case is for: that of its name, where its model is an expansion."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 else "functions, expanded"


def onnxruntime_passes(case):
    """Whether ONNX Runtime computes the same numbers."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    inputs, wanted = case.data_sets[0]
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        feeds = {port.name: value for port, value in zip(session.get_inputs(), inputs)}
        got = session.run(None, feeds)
        for a, b in zip(got, wanted):
            if isinstance(b, list):
                for one, other in zip(a, b, strict=True):
                    np.testing.assert_allclose(one, other, case.rtol or 1e-3, case.atol or 1e-7)
            elif np.asarray(b).dtype == object:
                np.testing.assert_array_equal(a, b)
            else:
                a, b = np.asarray(a), np.asarray(b)
                if a.dtype != b.dtype or a.shape != b.shape:
                    return False
                largest = np.max(np.abs(b.astype(float)), initial=0) if a.dtype.kind == "f" else 0
                np.testing.assert_allclose(a.astype(float) if a.dtype.kind == "V" else a,
                                           b.astype(float) if b.dtype.kind == "V" else b,
                                           case.rtol or 1e-3, max(case.atol or 1e-7, 1e-6 * largest))
        return True
    except Exception:  # noqa: BLE001  whatever goes wrong there
        return False


def run(program, folder, interpreter):
    """What onnx_node_cases prints, by case: (word, rest of the line)."""
    command = [program, str(folder)] + (["--interpreter"] if interpreter else [])
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = {}
    for line in done.stdout.splitlines():
        word, name, *rest = line.split(" ", 2)
        found[name] = (word, rest[0] if rest else "")
    return found


def print_table(cases, results):
    table = collections.defaultdict(collections.Counter)
    for case in cases:
        table[operator_of(case)][results[case.name][0]] += 1
        table[operator_of(case)]["cases"] += 1
    print(f"{'operator':32} {'cases':>5} {'passed':>6} {'random':>6} {'missing':>7} {'failed':>6}")
    for name, counts in sorted(table.items()):
        print(f"{name:32} {counts['cases']:5} {counts['passed']:6} {counts['random']:6} "
              f"{counts['missing'] + counts['left out']:7} {counts['failed']:6}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--onnxruntime", action="store_true")
    parser.add_argument("--interpreter", action="store_true")
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    with tempfile.TemporaryDirectory() as folder:
        left_out = {case.name: write_case(case, pathlib.Path(folder) / case.name) for case in cases}
        results = run(arguments.program, folder, arguments.interpreter)
    bad = 0
    for case in cases:
        if left_out[case.name]:
            results[case.name] = ("left out", left_out[case.name])
        word, rest = results[case.name]
        excused = any(part in case.name for part in LEFT_OUT)
        if word == "failed" or (word == "missing" and not excused):
            print(f"{word} {case.name} {rest}")
            bad += 1
    if arguments.table:
        print_table(cases, results)
    counts = collections.Counter(word for word, _ in results.values())
    known = collections.Counter(rest for word, rest in results.values() if word == "passed")
    print(f"{counts['passed']} of {len(cases)} cases pass, {known['some'] + known['all']} of them with inputs "
          f"that are given when the model is imported; {counts['random']} are random, "
          f"{counts['missing']} missing, {counts['left out']} left out, {counts['failed']} fail")
    if arguments.onnxruntime:
        print(f"ONNX Runtime passes {sum(onnxruntime_passes(case) for case in cases)} of {len(cases)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
