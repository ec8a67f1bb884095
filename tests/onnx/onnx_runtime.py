#!/usr/bin/env python3
"""Runs the models of case folders with ONNX Runtime and compares its outputs with theirs.

    PYTHON tests/onnx/onnx_runtime.py FOLDER...

Prints the largest difference of each, relative to the largest number, and exits with 1 if one is
above 1e-5. Needs the packages onnx and onnxruntime.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime


def read(folder, file):
    tensor = onnx.TensorProto()
    tensor.ParseFromString((folder / file).read_bytes())
    return onnx.numpy_helper.to_array(tensor)


def difference(folder):
    onnxruntime.set_default_logger_severity(4)
    onnx.checker.check_model(folder / "model.onnx", full_check=True)
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    feeds, wanted = {}, []
    for line in (folder / "case.txt").read_text().splitlines()[1:]:
        way, name, _, file = line.split(" ")
        if way == "in":
            feeds[name] = read(folder, file)
        else:
            wanted.append(read(folder, file))
    used = {port.name for port in session.get_inputs()}
    got = session.run(None, {name: value for name, value in feeds.items() if name in used})
    worst = 0.0
    for a, b in zip(got, wanted, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise ValueError(f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        a, b = a.astype(float), b.astype(float)
        largest = max(float(np.abs(b, where=np.isfinite(b), out=np.zeros_like(b)).max(initial=0)), 1e-30)
        with np.errstate(invalid="ignore"):
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
        apart[np.isnan(apart)] = np.inf
        worst = max(worst, float(apart.max(initial=0)) / largest)
    return worst


def main():
    failed = 0
    for folder in map(pathlib.Path, sys.argv[1:]):
        try:
            worst = difference(folder)
            print(f"{folder.name}: {worst:.1e}")
            failed += worst > 1e-5
        except Exception as error:  # noqa: BLE001  whatever goes wrong there
            print(f"{folder.name}: {str(error).splitlines()[0]}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
