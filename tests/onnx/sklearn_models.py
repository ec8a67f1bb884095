#!/usr/bin/env python3
"""Trains models of scikit-learn, converts them to ONNX by skl2onnx, and writes them as case folders
that onnx_node_cases reads, with the outputs of ONNX Runtime. Adds single operators of the domain
ai.onnx.ml with other attributes.

    PYTHON tests/onnx/sklearn_models.py build/onnx/sklearn && onnx_node_cases build/onnx/sklearn

Uses data sets of scikit-learn, and MNIST where $TRIREME_DATA has it. Needs the packages
scikit-learn, skl2onnx, onnx and onnxruntime.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # many threads for few rows take seconds

import argparse
import gzip
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from sklearn import datasets, ensemble, impute, linear_model, neural_network, pipeline, preprocessing, svm, tree
from skl2onnx import to_onnx

ROWS = 200  # of the inputs of cases


def accept_booleans():
    """skl2onnx 1.20 gives booleans as integers, which onnx 1.23 refuses."""
    made = helper.make_attribute

    def make_attribute(key, value, *rest, **more):
        if isinstance(value, list) and any(isinstance(one, (bool, np.bool_)) for one in value):
            value = [int(one) for one in value]
        return made(key, value, *rest, **more)

    helper.make_attribute = make_attribute


def write_case(folder, name, model, feeds, outputs=None):
    """A case folder as node_cases.py writes it; by default with the outputs of ONNX Runtime."""
    case = folder / name
    case.mkdir(parents=True)
    (case / "model.onnx").write_bytes(model.SerializeToString())
    if outputs is None:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        outputs = session.run(None, feeds)
    outputs = [np.array([[row[key] for key in sorted(row)] for row in y], "f4") if isinstance(y, list) else y
               for y in outputs]
    if outputs[0].dtype.kind in "OU":  # labels that are texts: their indices
        texts = sorted(set(outputs[0]))
        outputs[0] = np.array([texts.index(text) for text in outputs[0]])
    largest = max(float(np.abs(y[np.isfinite(y)]).max(initial=0)) for y in outputs)
    # ONNX Runtime adds the kernels of support vectors in f32.
    lines = ["1e-5 3e-5 0" if name.startswith(("svc", "one_class")) else f"1e-5 {1e-6 * largest} 0"]
    for way, values in (("in", list(feeds.items())), ("out", [(f"y{i}", y) for i, y in enumerate(outputs)])):
        for i, (port, value) in enumerate(values):
            (case / f"{way}_{i}.pb").write_bytes(onnx.numpy_helper.from_array(value).SerializeToString())
            lines.append(f"{way} {port} tensor {way}_{i}.pb")
    (case / "case.txt").write_text("\n".join(lines) + "\n")


# --- Models of scikit-learn -------------------------------------------------------------------


def mnist():
    """2,000 pictures of MNIST, or nothing."""
    folder = pathlib.Path(os.environ.get("TRIREME_DATA", "")) / "mnist"
    if not (folder / "train-images-idx3-ubyte.gz").exists():
        return None
    pixels = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:16 + 2000 * 784]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8:8 + 2000]
    return np.frombuffer(pixels, "u1").reshape(-1, 784) / 255, np.frombuffer(labels, "u1").astype(int)


def models():
    """name, model, x, y"""
    disease, digits = datasets.load_diabetes(return_X_y=True), datasets.load_digits(return_X_y=True)
    cancer, iris = datasets.load_breast_cancer(return_X_y=True), datasets.load_iris()
    irises, names = iris.data, iris.target_names[iris.target]
    two = preprocessing.StandardScaler().fit_transform(cancer[0]), cancer[1]
    yield "linear", linear_model.LinearRegression(), *disease
    yield "linear_two", linear_model.Ridge(), disease[0], np.stack([disease[1], -disease[1]], 1)
    yield "logistic", linear_model.LogisticRegression(), *two
    yield "logistic_ten", linear_model.LogisticRegression(max_iter=50), digits[0] / 16, digits[1]
    yield "logistic_names", linear_model.LogisticRegression(max_iter=300), irises, names
    yield "sgd", linear_model.SGDClassifier(loss="log_loss"), *two
    yield "tree", tree.DecisionTreeRegressor(max_depth=6), *disease
    yield "tree_of_one_leaf", tree.DecisionTreeRegressor(max_depth=1, min_samples_leaf=300), *disease
    yield "tree_classes", tree.DecisionTreeClassifier(), *digits
    yield "forest", ensemble.RandomForestRegressor(20), *disease
    yield "forest_two", ensemble.RandomForestClassifier(20), *cancer
    yield "forest_ten", ensemble.RandomForestClassifier(20), *digits
    yield "forest_names", ensemble.RandomForestClassifier(5), irises, names
    yield "extra_trees", ensemble.ExtraTreesClassifier(10), *digits
    yield "boosting", ensemble.GradientBoostingRegressor(n_estimators=30), *disease
    yield "boosting_two", ensemble.GradientBoostingClassifier(n_estimators=20), *cancer
    yield "boosting_ten", ensemble.GradientBoostingClassifier(n_estimators=3), *digits
    yield "histograms", ensemble.HistGradientBoostingRegressor(max_iter=20), *holes(*disease)
    yield "histograms_two", ensemble.HistGradientBoostingClassifier(max_iter=20), *holes(*cancer)
    yield "mlp", neural_network.MLPClassifier((20,), max_iter=30), digits[0] / 16, digits[1]
    yield "svr", svm.SVR(), *disease
    yield "svc_two", svm.SVC(), *two
    yield "svc_two_probabilities", svm.SVC(probability=True), *two
    yield "svc_ten", svm.SVC(), digits[0] / 16, digits[1]
    yield "svc_ten_probabilities", svm.SVC(probability=True), digits[0][:500] / 16, digits[1][:500]
    yield "svc_names", svm.SVC(kernel="poly", probability=True), irises, names
    yield "svc_linear", svm.SVC(kernel="linear"), irises, iris.target
    yield "one_class", svm.OneClassSVM(), irises, None
    yield "svr_linear", svm.SVR(kernel="linear"), *disease
    yield "svr_poly", svm.SVR(kernel="poly"), *disease
    for name, step in (("scaled", preprocessing.StandardScaler()), ("ranges", preprocessing.MinMaxScaler()),
                       ("robust", preprocessing.RobustScaler()), ("powers", preprocessing.PolynomialFeatures(2)),
                       ("norms_1", preprocessing.Normalizer("l1")), ("norms_2", preprocessing.Normalizer("l2")),
                       ("norms_max", preprocessing.Normalizer("max")), ("bits", preprocessing.Binarizer(threshold=0.01))):
        yield name, pipeline.make_pipeline(step, linear_model.LinearRegression()), *disease
    yield "imputed", pipeline.make_pipeline(impute.SimpleImputer(), linear_model.Ridge()), *holes(*disease)
    if (pictures := mnist()) is not None:
        yield "mnist_forest", ensemble.RandomForestClassifier(30), *pictures
        yield "mnist_logistic", linear_model.LogisticRegression(max_iter=30), *pictures


def holes(x, y):
    """A tenth of the elements are missing."""
    x = x.copy()
    x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    return x, y


# --- Single operators -------------------------------------------------------------------------


def operator(kind, inputs, outputs, **attributes):
    node = helper.make_node(kind, list(inputs), [name for name, _ in outputs], domain="ai.onnx.ml", **attributes)
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for name, x in inputs.items()]
    results = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs]
    graph = helper.make_graph([node], "g", ports, results)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 4)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9), inputs


def stump(**more):
    """Two trees: one of three leaves, and a leaf alone."""
    return {"nodes_treeids": [0, 0, 0, 0, 0, 1], "nodes_nodeids": [0, 1, 2, 3, 4, 0],
            "nodes_featureids": [1, 0, 0, 0, 0, 0], "nodes_values": [0.0, 0.5, 0.0, 0.0, 0.0, 0.0],
            "nodes_truenodeids": [1, 3, 0, 0, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 0],
            "nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF", "LEAF"]} | more


def operators():
    random = np.random.default_rng(3)
    x = random.normal(size=(9, 3)).astype("f4")
    x[0, :] = (0.5, 0.0, 0.0)  # on the borders
    f, i = TensorProto.FLOAT, TensorProto.INT64
    y = [("y", f)]
    for mode in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        trees = stump(nodes_modes=[mode, "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "LEAF"],
                      nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0])
        yield mode.lower(), *operator(
            "TreeEnsembleRegressor", {"x": np.concatenate([x, np.full((1, 3), np.nan, "f4")])}, y, n_targets=1,
            target_treeids=[0, 0, 0, 1], target_nodeids=[2, 3, 4, 0], target_ids=[0] * 4,
            target_weights=[1.0, -2.0, 4.0, 0.25], base_values=[0.5], **trees)
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield "trees_" + how.lower(), *operator(
            "TreeEnsembleRegressor", {"x": x}, y, n_targets=2, aggregate_function=how,
            target_treeids=[0, 0, 0, 0, 1, 1], target_nodeids=[2, 2, 3, 4, 0, 0], target_ids=[0, 1, 0, 1, 0, 1],
            target_weights=[1.0, -3.0, -2.0, 4.0, 0.25, 0.5], **stump())
    both = [("label", i), ("scores", f)]
    for name, weights in (("all_positive", [0.1, 0.7, 0.3, 0.1]), ("mixed", [1.0, -2.0, 0.5, 0.25])):
        for transform in ("NONE", "LOGISTIC"):
            yield f"second_class_{name}_{transform.lower()}", *operator(
                "TreeEnsembleClassifier", {"x": x}, both, classlabels_int64s=[5, 7], post_transform=transform,
                class_treeids=[0, 0, 0, 1], class_nodeids=[2, 3, 4, 0], class_ids=[0] * 4, class_weights=weights,
                **stump())
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
        yield "linear_" + transform.lower(), *operator(
            "LinearRegressor", {"x": np.abs(x) / 9}, y, targets=2, coefficients=[0.1, 0.2, 0.3, 0.3, 0.2, 0.4],
            intercepts=[0.1, 0.3], post_transform=transform)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield "classes_" + transform.lower(), *operator(
            "LinearClassifier", {"x": x}, both, coefficients=list(random.normal(size=9)), intercepts=[0.0, 1.0, -1.0],
            classlabels_ints=[3, 1, 2], post_transform=transform)
    numbers = np.array([[1, 2], [3, 4], [-1, 2]])
    yield "scaler_of_integers", *operator("Scaler", {"x": numbers}, y, offset=[1.0, 1.0], scale=[0.5, 2.0])
    yield "scaler_one", *operator("Scaler", {"x": x}, y, offset=[1.0], scale=[0.5])
    for norm in ("MAX", "L1", "L2"):
        zero = np.abs(np.concatenate([x, np.zeros((1, 3), "f4")]))
        yield "normalizer_" + norm.lower(), *operator("Normalizer", {"x": zero}, y, norm=norm)
    yield "imputer_of_integers", *operator("Imputer", {"x": numbers}, [("y", i)], imputed_value_int64s=[9, 8],
                                           replaced_value_int64=2)
    yield "vectorizer", *operator("FeatureVectorizer", {"x": x, "z": x[:, :1]}, y, inputdimensions=[3, 1])
    yield "extractor", *operator("ArrayFeatureExtractor", {"x": x, "z": np.array([[2, 0]])}, y)
    yield "encoder_of_integers", *operator("LabelEncoder", {"x": numbers}, y, keys_int64s=[2, 3],
                                           values_floats=[0.5, 1.5], default_float=-7.0)
    yield "encoder_of_floats", *operator(
        "LabelEncoder", {"x": np.array([1.5, np.nan, 2.0], "f4")}, [("y", i)], keys_floats=[1.5, float("nan")],
        values_int64s=[4, 6])
    yield "one_hot", *operator("OneHotEncoder", {"x": numbers}, y, cats_int64s=[1, 2, 3], zeros=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    accept_booleans()
    for name, model, x, y in models():
        if "random_state" in model.get_params():
            model.set_params(random_state=1)
        model.fit(x, y)
        rows = x[:ROWS].astype("f4")
        if name == "one_class":  # near 0, rounding decides
            rows = rows[np.abs(model.decision_function(rows)) > 1e-4]
        converted = to_onnx(model, rows[:1])
        outputs = None
        if name == "norms_max":  # ONNX Runtime divides by the largest element, with its sign
            outputs = [model.predict(rows).astype("f4")[:, None]]
        if name == "svc_names":  # ONNX Runtime adds kernels in f32: probabilities differ by 1e-4
            outputs = [model.predict(rows), model.predict_proba(rows).astype("f4")]
        write_case(arguments.folder, name, converted, {"X": rows}, outputs)
        if hasattr(model, "predict_proba"):
            exported = to_onnx(model, rows[:1], options={id(model): {"zipmap": False}})
            write_case(arguments.folder, name + "_arrays", exported, {"X": rows}, outputs)
    for name, model, feeds in operators():
        write_case(arguments.folder, "op_" + name, model, feeds)


if __name__ == "__main__":
    sys.exit(main())
