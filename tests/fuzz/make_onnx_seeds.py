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
    ml = "ai.onnx.ml"
    nodes = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
             "nodes_values": [0.5, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0],
             "nodes_falsenodeids": [2, 0, 0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"]}
    leaves = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 0], "weights": [0.25, 0.75]}
    yield "trees", model(
        [node("Scaler", ["x"], ["s"], domain=ml, offset=[1.0], scale=[0.5, 2.0]),
         node("TreeEnsembleRegressor", ["s"], ["r"], domain=ml, n_targets=1, base_values=[0.5],
              **nodes, **{f"target_{key}": value for key, value in leaves.items()}),
         node("TreeEnsembleClassifier", ["s"], ["label", "p"], domain=ml, classlabels_int64s=[3, 4],
              **nodes, **{f"class_{key}": value for key, value in leaves.items()})],
        [info("x", ["n", 2])], [info("r", None), info("label", None, I), info("p", None)], domains=[ml])
    yield "ensemble", model(
        [node("TreeEnsemble", ["x"], ["y"], domain=ml, n_targets=2, nodes_featureids=[0, 0, 0],
              nodes_splits=array("s", [3.14, 1.2, 4.2]), nodes_modes=array("m", [0, 0, 6], "uint8"),
              membership_values=array("v", [1, 4.2, np.nan]), nodes_truenodeids=[1, 0, 1],
              nodes_falsenodeids=[2, 2, 3], nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[0, 1, 1],
              leaf_targetids=[0, 1, 0, 1], leaf_weights=array("w", [5.2, 12.1, -12.2, 7.2]),
              tree_roots=[0])], [info("x", ["n", 1])], [info("y", None)], domains=[ml])
    yield "columns", model(
        [node("Imputer", ["x"], ["a"], domain=ml, imputed_value_floats=[1.0], replaced_value_float=0.0),
         node("Normalizer", ["a"], ["b"], domain=ml, norm="L2"),
         node("LinearClassifier", ["b"], ["label", "p"], domain=ml, coefficients=[1.0, 2.0, 3.0, 4.0],
              intercepts=[0.5, -0.5], classlabels_ints=[7, 9], post_transform="SOFTMAX"),
         node("LabelEncoder", ["label"], ["y"], domain=ml, keys_int64s=[7, 9], values_floats=[0.5, 2.5]),
         node("SVMRegressor", ["b"], ["z"], domain=ml, kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0],
              n_supports=2, support_vectors=[1.0, 2.0, 3.0, 4.0], coefficients=[1.0, -1.0], rho=[0.25])],
        [info("x", ["n", 2])], [info("y", None), info("p", None), info("z", None)], domains=[ml])


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, proto in seeds():
        (folder / name).write_bytes(proto.SerializeToString())


if __name__ == "__main__":
    main()
