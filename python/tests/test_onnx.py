"""Models of ONNX: there, with ONNX Runtime as the oracle, and back."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import trireme as tr

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = onnxruntime = None

needs_onnx = unittest.skipIf(onnx is None, "the packages onnx and onnxruntime are not installed")
X = np.linspace(-1, 1, 12, dtype="f4").reshape(4, 3)


def perceptron():
    x = tr.Input((3,), name="x")
    return tr.Model(x, tr.nn.linear(tr.nn.linear(x, 5, activation="tanh"), 2))


def texts():
    ids = tr.Input((), name="ids", dtype=tr.i64, levels=1)
    return tr.Model(ids, tr.sequence.mean(tr.nn.embedding(ids, 10, 4)))


class Export(unittest.TestCase):
    def test_there_and_back(self):
        model = perceptron()
        imported = tr.onnx.import_bytes(tr.onnx.export_bytes(model))
        self.assertEqual((imported.inputs, imported.outputs), (["x"], ["output"]))
        self.assertEqual(imported.warnings, [])
        y, = imported.session(threads=1).run({"x": X}, imported.program.outputs)
        np.testing.assert_allclose(y, model.predict(X), rtol=1e-6)

    def test_models_saved_models_and_folders(self):
        model = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "saved"
            model.save(saved, labels=["a", "b"])
            content = tr.onnx.export_bytes(saved)
            self.assertEqual(tr.onnx.export_bytes(tr.load_model(saved)), content)
            file = Path(folder) / "model.onnx"
            tr.onnx.export_model(model, file)
            imported = tr.onnx.import_model(file, sizes={"batch": 4})
            self.assertEqual(imported.program.find("x").shape, (4, 3))
            imported.save(Path(folder) / "again", labels=["a", "b"])
            again = tr.load_model(Path(folder) / "again")
            self.assertEqual(again.labels, ["a", "b"])
            np.testing.assert_allclose(again.predict({"x": X})[0], model.predict(X), rtol=1e-6)

    @needs_onnx
    def test_onnx_runtime_computes_the_same(self):
        model = perceptron()
        for opset in (18, 25):
            content = tr.onnx.export_bytes(model, opset=opset)
            self.assertEqual(onnx.load_from_string(content).opset_import[0].version, opset)
            session = onnxruntime.InferenceSession(content)
            for x in (X, X[:1], X[:0]):
                y, = session.run(None, {"x": x})
                np.testing.assert_allclose(y, model.predict(x), rtol=1e-5, atol=1e-6)

    @needs_onnx
    def test_sequences_are_rows_and_splits(self):
        model = texts()
        session = onnxruntime.InferenceSession(tr.onnx.export_bytes(model))
        rows, splits = np.array([1, 2, 9, 0, 0]), np.array([0, 3, 3, 5])
        y, = session.run(None, {"ids": rows, "ids.splits": splits})
        np.testing.assert_allclose(y, model.predict([[1, 2, 9], [], [0, 0]]), rtol=1e-5)

    def test_mistakes(self):
        model = perceptron()
        with self.assertRaisesRegex(tr.errors.UsageError, "18 to 27"):
            tr.onnx.export_bytes(model, opset=3)
        with self.assertRaises(tr.errors.NotFoundError):
            tr.onnx.export_bytes("none")
        a = tr.Input((2, 2), name="a")
        with self.assertRaisesRegex(tr.errors.UsageError, "cholesky.*ONNX has no such operator"):
            tr.onnx.export_bytes(tr.Model(a, tr.cholesky(a)))


class Import(unittest.TestCase):
    @needs_onnx
    def test_constants_shapes_and_parameters(self):
        helper, kind = onnx.helper, onnx.TensorProto
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "w"], ["z"]),
             helper.make_node("Reshape", ["z", "shape"], ["y"])],
            "g", [helper.make_tensor_value_info("x", kind.FLOAT, ["n", 4]),
                  helper.make_tensor_value_info("shape", kind.INT64, [2])],
            [helper.make_tensor_value_info("y", kind.FLOAT, None)],
            [onnx.numpy_helper.from_array(np.array([1, 2, 3, 4], "f4"), "w")])
        content = helper.make_model(graph).SerializeToString()
        with self.assertRaisesRegex(tr.errors.UsageError, "as a constant"):
            tr.onnx.import_bytes(content)
        imported = tr.onnx.import_bytes(content, constants={"shape": [-1, 2]},
                                        shapes={"x": ["rows", 4]}, trainable=False)
        self.assertEqual(imported.inputs, ["x"])
        self.assertEqual(imported.program.find("x").shape, ("rows", 4))
        np.testing.assert_array_equal(imported.state["w"], [1, 2, 3, 4])
        x = np.arange(8, dtype="f4").reshape(2, 4)
        y, = imported.session().run({"x": x}, imported.program.outputs)
        np.testing.assert_array_equal(y, (x * [1, 2, 3, 4]).reshape(-1, 2))

    @needs_onnx
    def test_damaged_trees(self):
        def tree(**more):
            lists = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2],
                     "nodes_featureids": [0, 0, 0], "nodes_values": [0.5, 0.0, 0.0],
                     "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
                     "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "target_treeids": [0, 0],
                     "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
                     "n_targets": 1} | more
            node = onnx.helper.make_node("TreeEnsembleRegressor", ["x"], ["y"],
                                         domain="ai.onnx.ml", **lists)
            ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, 1])
                     for name in ("x", "y")]
            graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:])
            return onnx.helper.make_model(graph).SerializeToString()

        imported = tr.onnx.import_bytes(tree())
        y, = imported.session().run({"x": np.array([[0.5], [0.6], [np.nan]], "f4")},
                                    imported.program.outputs)
        np.testing.assert_array_equal(y, [[1], [2], [2]])
        for damage, reason in [
                ({"nodes_truenodeids": [7, 0, 0]}, "a node that it does not have"),
                ({"target_nodeids": [1, 7]}, "a node that it does not have"),
                ({"nodes_values": [0.5]}, "different lengths"),
                ({"nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
                  "nodes_truenodeids": [1, 1, 0], "nodes_falsenodeids": [2, 1, 0]},
                 "below itself"),
                ({"nodes_modes": ["WORD", "LEAF", "LEAF"]}, 'the mode "WORD"'),
                ({"nodes_featureids": [1, 0, 0]}, "a column that its input does not have"),
                ({"nodes_featureids": [-1, 0, 0]}, "a column that its input does not have"),
                ({"target_ids": [0, 1]}, "a target or class that there is not"),
                ({"n_targets": 0}, "no targets"),
                ({"n_targets": 2**40}, "too many")]:
            with self.subTest(damage=damage), \
                    self.assertRaisesRegex(tr.errors.UsageError, reason):
                tr.onnx.import_bytes(tree(**damage))

    def test_mistakes(self):
        with self.assertRaises(tr.errors.NotFoundError):
            tr.onnx.import_model("none.onnx")
        with self.assertRaises(tr.errors.DataError):
            tr.onnx.import_bytes(b"no model")
        with self.assertRaisesRegex(tr.errors.UsageError, "\ufffd"):  # a name that is not UTF-8
            tr.onnx.import_bytes(tr.onnx.export_bytes(perceptron()).replace(b"Tanh", b"\xffanh"))
        with self.assertRaisesRegex(tr.errors.UsageError, '"x": "3 x" is no size'):
            tr.onnx.import_bytes(b"", shapes={"x": ["3 x"]})


if __name__ == "__main__":
    unittest.main()
