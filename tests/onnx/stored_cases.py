#!/usr/bin/env python3
"""Runs onnx_node_cases on the test data that ONNX stores as files, such as those of Debian's
package libonnx-testdata: test cases of operators and networks of PyTorch, of ONNX 1.12.

    tests/onnx/stored_cases.py PROGRAM /usr/share/libonnx-testdata/data

Prints the cases that do not pass with the reason, and exits with 1 if there is one. Cases of
training, and of texts, may be missing.
Needs the package onnx.
"""

import pathlib
import sys
import tempfile

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from node_cases import LEFT_OUT, LeftOut, is_random, run  # noqa: E402

KINDS = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto,
         "optional_type": onnx.OptionalProto}


def files_of(port, file, folder, stem):
    """Copies the tensors of a port; returns the rest of its line in case.txt."""
    kind = port.type.WhichOneof("value")
    value = KINDS[kind]()
    value.ParseFromString(file.read_bytes())
    if kind == "optional_type":
        raise LeftOut("an optional")
    tensors = [value] if kind == "tensor_type" else list(value.tensor_values)
    names = []
    for i, tensor in enumerate(tensors):
        if tensor.data_type == onnx.TensorProto.STRING:
            raise LeftOut("texts")
        if port.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            tensor.data_type = onnx.TensorProto.BFLOAT16  # old data say uint16
        (folder / f"{stem}_{i}.pb").write_bytes(tensor.SerializeToString())
        names.append(f"{stem}_{i}.pb")
    return ("tensor " if kind == "tensor_type" else "sequence ") + " ".join(names)


def write_case(source, folder):
    """Writes a case folder; returns why it is left out, or ""."""
    folder.mkdir(parents=True)
    model = onnx.load(source / "model.onnx", load_external_data=False)
    data = source / "test_data_set_0"
    constants = {initializer.name for initializer in model.graph.initializer}
    inputs = [port for port in model.graph.input if port.name not in constants]
    lines = [f"1e-3 1e-6 {int(is_random(source.name))}"]
    try:
        for way, ports in (("in", inputs), ("out", model.graph.output)):
            for i, port in enumerate(ports):
                file = data / f"{way}put_{i}.pb"
                lines.append(f"{way} {port.name} {files_of(port, file, folder, f'{way}_{i}')}")
    except (LeftOut, FileNotFoundError) as reason:
        return str(reason) or "no data"
    (folder / "model.onnx").write_bytes((source / "model.onnx").read_bytes())
    (folder / "case.txt").write_text("\n".join(lines) + "\n")
    return ""


def main():
    program, data = sys.argv[1], pathlib.Path(sys.argv[2])
    sources = sorted(path.parent for path in data.glob("*/*/model.onnx"))
    bad, left_out, passed = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            name = f"{source.parent.name}.{source.name}"
            if write_case(source, pathlib.Path(folder) / name):
                for file in (pathlib.Path(folder) / name).iterdir():
                    file.unlink()
                (pathlib.Path(folder) / name).rmdir()
                left_out += 1
        for name, (word, rest) in run(program, folder, True).items():
            passed += word == "passed"
            known = [*LEFT_OUT, "gradient_of"]  # of training, too
            excused = word == "random" or any(part in name for part in known)
            if word != "passed" and not excused:
                print(f"{word} {name} {rest}")
                bad += 1
    print(f"{passed} of {len(sources)} stored cases pass, {left_out} have texts, optionals or no data, {bad} fail")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
