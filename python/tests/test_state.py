"""State dicts, safetensors files, and weights of PyTorch."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import trireme as tr

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


def perceptron():
    x = tr.Input((3,), name="x")
    return tr.Model(x, tr.nn.linear(tr.nn.linear(x, 4, activation="relu", name="hidden"), 2,
                                    name="out"))


class StateDict(unittest.TestCase):
    def test_of_a_model_without_the_optimizer(self):
        model = perceptron()
        model.compile("adam", "mse", seed=3)
        model.fit(np.ones((8, 3), "f4"), np.ones((8, 2), "f4"), progress=False)
        state = model.state_dict()
        self.assertEqual(list(state), ["hidden.bias", "hidden.weight", "out.bias", "out.weight"])
        self.assertEqual(state["hidden.weight"].shape, (3, 4))
        other = perceptron()
        self.assertEqual(other.load_state_dict(state), ([], []))
        x = np.arange(6, dtype="f4").reshape(2, 3)
        np.testing.assert_array_equal(other.predict(x), model.predict(x))
        kept = state["out.bias"].copy()
        other.session.set_parameter("out.bias", kept + 1)
        np.testing.assert_array_equal(state["out.bias"], kept)

    def test_names_and_shapes_that_do_not_match(self):
        model = perceptron()
        state = model.state_dict()
        state["other"] = state.pop("out.bias")
        with self.assertRaisesRegex(tr.errors.UsageError, '(?s)"out.bias".*"other"'):
            model.load_state_dict(state)
        self.assertEqual(model.load_state_dict(state, strict=False), (["out.bias"], ["other"]))
        state["hidden.bias"] = np.zeros(5, "f4")
        with self.assertRaisesRegex(tr.errors.UsageError, r"f32\[5\].*f32\[4\]"):
            model.load_state_dict(state, strict=False)
        for wrong in [{"out.bias": "text"}, {1: np.zeros(2, "f4")}, {"out.bias": object()}]:
            with self.subTest(wrong=wrong), self.assertRaises(tr.errors.UsageError):
                model.load_state_dict(wrong, strict=False)
        for options in [{"layout": "caffe"}, {"layout": 3}, {"modules": {"a": 1}},
                        {"modules": {"a": "b"}}]:
            with self.subTest(options=options), self.assertRaises(tr.errors.UsageError):
                model.load_state_dict(model.state_dict(), **options)

    def test_weights_of_torch(self):
        weight, bias = np.arange(12, dtype="f4").reshape(4, 3), np.arange(4, dtype="f4")
        tensors = {"net.0.weight": weight, "net.0.bias": bias,
                   "net.2.weight": np.ones((2, 4), "f4"), "net.2.bias": np.zeros(2, "f4")}
        model = perceptron()
        model.load_state_dict(tensors, layout="torch",
                              modules={"net.0": "hidden", "net.2": "out"})
        x = np.array([[1, -2, 3], [0, 1, 0]], "f4")
        expected = np.maximum(x @ weight.T + bias, 0) @ np.ones((4, 2), "f4")
        np.testing.assert_allclose(model.predict(x), expected, rtol=1e-6)

    def test_of_a_session(self):
        program = tr.Program("norm")
        y = tr.nn.batch_norm(program.input("x", tr.f32, ("batch", 3)), name="norm")
        session = tr.Session(program)
        tensors = {"norm.weight": np.ones(3, "f4"), "norm.bias": np.zeros(3, "f4"),
                   "norm.running_mean": np.full(3, 2, "f4"), "norm.running_var": np.ones(3, "f4"),
                   "norm.num_batches_tracked": np.int64(5)}
        self.assertEqual(session.load_state_dict(tensors, layout="torch"), ([], []))
        self.assertEqual(list(session.state_dict())[1], "norm.running_mean")
        np.testing.assert_allclose(session.run({"x": np.full((1, 3), 4, "f4")}, y),
                                   np.full((1, 3), 2), rtol=1e-4)


class Safetensors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "weights.safetensors"

    def test_every_dtype_and_texts(self):
        arrays = {code: np.array([[0, 1], [1, 0]], code)
                  for code in ["?", "u1", "i4", "i8", "f2", "f4", "f8"]}
        arrays["scalar"], arrays["empty"] = np.float32(3), np.zeros((0, 2), "f4")
        arrays["turned"] = np.arange(6, dtype="f4").reshape(2, 3).T
        tr.io.save_safetensors(self.path, arrays, {"format": "np"})
        loaded = tr.io.load_safetensors(str(self.path))
        self.assertEqual(set(loaded), set(arrays))
        for name, array in arrays.items():
            self.assertEqual(loaded[name].dtype, array.dtype)
            np.testing.assert_array_equal(loaded[name], array)
        self.assertEqual(tr.io.safetensors_metadata(self.path), {"format": "np"})

    @unittest.skipIf(ml_dtypes is None, "the package ml_dtypes is not installed")
    def test_bfloat16(self):
        array = np.array([[1.5, -2, 0.1]], ml_dtypes.bfloat16)
        tr.io.save_safetensors(self.path, {"b": array, "t": array.T})
        loaded = tr.io.load_safetensors(self.path)
        self.assertEqual(loaded["b"].dtype, array.dtype)
        np.testing.assert_array_equal(loaded["b"], array)
        np.testing.assert_array_equal(loaded["t"], array.T)

    def test_damaged_files(self):
        tr.io.save_safetensors(self.path, {"w": np.ones(2, "f4")})
        whole = self.path.read_bytes()
        for size in range(len(whole)):
            self.path.write_bytes(whole[:size])
            with self.assertRaisesRegex(tr.Error, "damaged"):
                tr.io.load_safetensors(self.path)
        self.path.write_bytes(whole.replace(b"F32", b"Q32"))
        with self.assertRaisesRegex(tr.errors.DataError, "Q32"):
            tr.io.load_safetensors(self.path)
        with self.assertRaises(tr.errors.NotFoundError):
            tr.io.load_safetensors(self.path.with_name("none"))
        with self.assertRaises(tr.errors.UsageError):
            tr.io.load_safetensors(3)
        with self.assertRaises(tr.errors.UsageError):
            tr.io.save_safetensors(self.path, {"__metadata__": np.ones(1)})


if __name__ == "__main__":
    unittest.main()
