#!/usr/bin/env python3
"""Writes the test cases of ONNX's operators (onnx.backend.test) as folders that onnx_node_cases
reads.

    tests/onnx/write_node_cases.py build/onnx/cases

Needs the package onnx.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

# Sorts of values that onnx_node_cases cannot read, and what they are called.
SKIPPED = {onnx.TensorProto.STRING: "string", onnx.TensorProto.COMPLEX64: "complex"}


def write_port(folder, way, name, value, element_type):
    """Writes the files of an input or output; returns its line in case.txt."""
    def tensor(array, file):
        if isinstance(array, onnx.TensorProto):
            proto = array
        else:
            proto = onnx.numpy_helper.from_array(np.asarray(array))
        if proto.data_type in SKIPPED:
            raise ValueError(SKIPPED[proto.data_type])
        (folder / file).write_bytes(proto.SerializeToString())
        return file

    index = len(list(folder.glob(f"{way}_*.pb")))
    if value is None:
        raise ValueError("optional")
    if isinstance(value, list):
        files = [tensor(one, f"{way}_{index}_{i}.pb") for i, one in enumerate(value)]
        return f"{way} {name} sequence {' '.join(files)}"
    return f"{way} {name} tensor {tensor(value, f'{way}_{index}.pb')}"


def write_case(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    graph = case.model.graph
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    lines = [f"{case.rtol or 1e-3} {case.atol or 1e-7}"]
    inputs, outputs = case.data_sets[0]
    for way, ports, values in (("in", graph.input, inputs), ("out", graph.output, outputs)):
        for port, value in zip(ports, values):
            element_type = port.type.tensor_type.elem_type
            lines.append(write_port(folder, way, port.name, value, element_type))
    (folder / "case.txt").write_text("\n".join(lines) + "\n")


def main():
    target = pathlib.Path(sys.argv[1])
    cases = collect_testcases(None)
    written = 0
    for case in cases:
        folder = target / case.name
        try:
            write_case(case, folder)
            written += 1
        except ValueError as error:
            print(f"skipped {case.name} {error}")
            for file in folder.glob("*"):
                file.unlink()
            folder.rmdir()
    print(f"{written} of {len(cases)} cases written")


if __name__ == "__main__":
    main()
