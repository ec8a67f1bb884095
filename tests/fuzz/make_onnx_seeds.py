#!/usr/bin/env python3
"""Writes the seeds of fuzz_onnx_model: small models with the parts that models have.

    build/venv/bin/python tests/fuzz/make_onnx_seeds.py tests/fuzz/corpus/onnx_model

Needs the package onnx (tools/python-env.sh onnx).
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, shape, dtype=F):
    return helper.make_tensor_value_info(name, dtype, shape)


def array(name, values, dtype="float32"):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def model(nodes, inputs, outputs, initializers=(), functions=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 21)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions))


def seeds():
    node = helper.make_node
    yield "linear", model(
        [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Softmax", ["h"], ["y"], axis=-1)],
        [info("x", ["batch", 3])], [info("y", ["batch", 2])],
        [array("w", np.ones((2, 3))), array("b", [0.5, -1])])
    yield "shapes", model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
         node("Unsqueeze", ["n", "axes"], ["m"]), node("Concat", ["m", "rest"], ["t"], axis=0),
         node("Reshape", ["x", "t"], ["r"]), node("Slice", ["r", "start", "end", "one"], ["y"])],
        [info("x", ["batch", 2, 3])], [info("y", None)],
        [array("zero", 0, "int64"), array("axes", [0], "int64"), array("rest", [-1], "int64"),
         array("start", [1], "int64"), array("end", [2**62], "int64"), array("one", [1], "int64")])
    yield "convolution", model(
        [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", ["c"], ["r"]),
         node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], ceil_mode=1),
         node("GlobalAveragePool", ["p"], ["y"])],
        [info("x", ["n", 1, 8, 8])], [info("y", None)], [array("w", np.ones((2, 1, 3, 3)))])
    branch = [helper.make_graph([node(op, ["x"], ["o"])], op, [], [info("o", [2])]) for op in ("Neg", "Abs")]
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"]), node("Identity", ["w"], ["z"])],
        "body", [info("i", [], I), info("c", [], B), info("v", [2])],
        [info("d", [], B), info("w", [2]), info("z", [2])])
    yield "control", model(
        [node("If", ["flag"], ["a"], then_branch=branch[0], else_branch=branch[1]),
         node("Loop", ["count", "", "a"], ["l", "all"], body=body)],
        [info("x", [2]), info("flag", [], B)], [info("l", None), info("all", None)],
        [array("count", 3, "int64")])
    square = helper.make_function("own", "Square", ["a"], ["b"], [node("Mul", ["a", "a"], ["b"])],
                                  [helper.make_opsetid("", 21)])
    yield "function", model([node("Square", ["x"], ["y"], domain="own")], [info("x", [4])],
                            [info("y", [4])], functions=[square], domains=["own"])
    yield "quantised", model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])],
        [info("x", [2, 2])], [info("y", [2, 2])], [array("s", 0.5), array("z", 3, "uint8")])
    yield "sequence", model(
        [node("SplitToSequence", ["x"], ["q"], axis=0), node("SequenceAt", ["q", "one"], ["y"])],
        [info("x", [3, 2])], [info("y", None)], [array("one", 1, "int64")])
    sparse = helper.make_sparse_tensor(array("v", [1, 2]), array("i", [0, 3], "int64"), [4])
    yield "constants", model(
        [node("Constant", [], ["c"], sparse_value=sparse), node("Range", ["a", "b", "d"], ["r"]),
         node("Resize", ["x", "", "scales"], ["y"], mode="linear"), node("Add", ["c", "r"], ["z"])],
        [info("x", [1, 1, 2, 2])], [info("y", None), info("z", None)],
        [array("a", 0), array("b", 4), array("d", 1), array("scales", [1, 1, 2, 2])])
    lstm = [array("w", np.ones((1, 8, 3))), array("r", np.ones((1, 8, 2))), array("lens", [2, 1], "int32")]
    yield "recurrent", model([node("LSTM", ["x", "w", "r", "", "lens"], ["y"], hidden_size=2)],
                             [info("x", [2, 2, 3])], [info("y", None)], lstm)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, proto in seeds():
        (folder / name).write_bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()
