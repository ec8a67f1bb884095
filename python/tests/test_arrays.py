"""Immediate mode: against NumPy, and against formulas of gradients."""

import threading
import unittest

import numpy as np

import trireme as tr


class Arrays(unittest.TestCase):
    def test_numbers_become_arrays(self):
        x = tr.array([1.0, 2.0, 3.0])
        self.assertEqual((x.dtype, x.shape, x.ndim, x.size), (tr.f32, (3,), 1, 3))
        self.assertEqual(tr.array([1, 2]).dtype, tr.i64)
        self.assertEqual(tr.array(np.float64(1)).dtype, tr.f64)
        self.assertEqual(tr.array([[1, 2], [3, 4]], tr.f64).dtype, tr.f64)
        self.assertEqual(tr.array([]).shape, (0,))
        self.assertEqual(float(tr.array(2.5)), 2.5)
        with self.assertRaises(tr.Error):
            tr.array([[1.0], [1.0, 2.0]])
        with self.assertRaises(tr.Error):
            tr.array("text")

    def test_functions_of_values_take_arrays(self):
        numbers = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
        x = tr.array(numbers)
        np.testing.assert_allclose(tr.exp(x) * 2 + 1, np.exp(numbers) * 2 + 1, rtol=1e-6)
        np.testing.assert_allclose(tr.softmax(x).sum(1), np.ones(3), rtol=1e-6)
        np.testing.assert_allclose(x @ x.T, numbers @ numbers.T, rtol=1e-5)
        np.testing.assert_allclose(x @ numbers[0], numbers @ numbers[0], rtol=1e-5)
        np.testing.assert_allclose(x.mean(axis=0, keepdims=True), numbers.mean(0, keepdims=True),
                                   rtol=1e-6)
        values, indices = tr.top_k(x, 2)
        self.assertIsInstance(values, tr.Array)
        np.testing.assert_array_equal(indices, [[3, 2]] * 3)
        np.testing.assert_array_equal(x > 0, numbers > 0)
        np.testing.assert_array_equal(x.max(0), numbers.max(0))
        np.testing.assert_array_equal(2 - x, 2 - numbers)
        np.testing.assert_array_equal(numbers + x, numbers + numbers)
        np.testing.assert_array_equal(x // 0.5, numbers // 0.5)

    def test_vectors_and_matrices(self):
        matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
        stack = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
        pairs = [(matrix[0], matrix[1]), (matrix[0], matrix.T), (matrix, matrix[0]),
                 (stack, matrix.T), (matrix[0], np.swapaxes(stack, 1, 2)), (stack, matrix[1])]
        for a, b in pairs:
            with self.subTest(a=a.shape, b=b.shape):
                product = tr.array(a) @ tr.array(b)
                self.assertEqual(product.shape, (a @ b).shape)
                np.testing.assert_allclose(product, a @ b)

    def test_indexing(self):
        numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        x = tr.array(numbers)
        for items in [0, -1, slice(1, 2), (0, 1), (slice(None), -1), (..., 0), (None, 1),
                      (0, slice(None, None, -1)), (slice(None), slice(0, 3, 2)), (1, ..., None)]:
            with self.subTest(items=items):
                np.testing.assert_array_equal(x[items], numbers[items])
        np.testing.assert_array_equal(x[:, [2, 0]], numbers[:, [2, 0]])
        np.testing.assert_array_equal(x[tr.array([1])], numbers[[1]])
        self.assertEqual([row.shape for row in x], [(3, 4), (3, 4)])
        for wrong in (5, True, "a", 1.5, (0, 0, 0, 0), object()):
            with self.subTest(wrong=wrong), self.assertRaises(tr.Error):
                x[wrong].eval()

    def test_values_of_programs_have_indices_too(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("batch", 3))
        self.assertEqual(x[:, 1:].shape, ("batch", 2))
        with self.assertRaises(tr.Error):
            list(x)
        self.assertEqual(len(list(x.T)), 3)

    def test_memory_is_shared_where_the_name_says_so(self):
        numbers = np.arange(4, dtype=np.float32)
        address = numbers.__array_interface__["data"][0]
        shared, copied = tr.asarray(numbers), tr.array(numbers)
        self.assertEqual(shared.numpy().__array_interface__["data"][0], address)
        self.assertNotEqual(copied.numpy().__array_interface__["data"][0], address)
        later = copied + numbers  # recorded; the operand is copied
        numbers[:] = 7
        np.testing.assert_array_equal(later, [0, 2, 4, 6])
        with self.assertRaises(ValueError):
            copied.numpy()[0] = 1

    def test_dlpack(self):
        x = tr.array([1.0, 2.0])
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        again = np.from_dlpack(x)
        self.assertEqual(again.__array_interface__["data"], x.numpy().__array_interface__["data"])

    def test_text(self):
        x = tr.array([1.0, float("nan"), 3.0])
        self.assertTrue(repr(x).startswith("Array(f32[3], 1 to 3, 1 NaN)\n"), repr(x))
        self.assertEqual(str(x), "[  1, nan,   3]")
        self.assertIn("Array(f32[0])", repr(tr.zeros(0)))

    def test_truth_and_conversions(self):
        self.assertTrue(tr.array(1.0) > 0)
        self.assertEqual(int(tr.array(3)), 3)
        self.assertEqual([10, 20, 30][tr.array(1)], 20)
        self.assertEqual(tr.array([[1, 2]]).tolist(), [[1, 2]])
        for convert in (bool, float, len, lambda x: x.item()):
            with self.subTest(convert=convert), self.assertRaises((ValueError, TypeError)):
                convert(tr.array([[1.0, 2.0]]) if convert is not len else tr.array(1.0))

    def test_layers_need_a_program(self):
        with self.assertRaisesRegex(tr.Error, "needs a Program"):
            tr.nn.linear(tr.zeros((2, 3)), 4)
        program = tr.Program()
        x = program.input("x", tr.f32, (2,))
        with self.assertRaisesRegex(tr.Error, "add an input"):
            x + tr.zeros(2)

    def test_errors_name_the_line_of_the_caller(self):
        with self.assertRaisesRegex(tr.Error, "test_arrays.py"):
            tr.zeros(2) + tr.zeros(3)

    def test_a_loop_compiles_once(self):
        x = tr.zeros(3)
        before = tr._core.array_statistics()["compiled"]
        for i in range(20):
            x = (x + 1.0) * 0.5
            x.eval()
        self.assertEqual(tr._core.array_statistics()["compiled"], before + 1)

    def test_random_numbers(self):
        tr.random.seed(3)
        a, b = tr.random.normal((1000,)).numpy(), tr.random.normal((1000,)).numpy()
        tr.random.seed(3)
        np.testing.assert_array_equal(a, tr.random.normal((1000,)))
        self.assertFalse(np.array_equal(a, b))
        self.assertLess(abs(a.mean()), 0.15)
        u = tr.random.uniform((1000,), low=2, high=3).numpy()
        self.assertTrue(((u >= 2) & (u < 3)).all())
        np.testing.assert_array_equal(tr.random.bernoulli(0, (4,)), np.zeros(4))
        np.testing.assert_array_equal(tr.random.bernoulli(1, (4,)), np.ones(4))
        for wrong in (-0.1, 1.5, float("nan")):
            with self.assertRaises(tr.Error):
                tr.random.bernoulli(wrong, (4,))
        self.assertLess(abs(tr.random.bernoulli(0.3, (2000,)).numpy().mean() - 0.3), 0.06)

    def test_made_from_nothing(self):
        np.testing.assert_array_equal(tr.arange(3), [0, 1, 2])
        self.assertEqual((tr.arange(3).dtype, tr.arange(3.0).dtype), (tr.i64, tr.f32))
        np.testing.assert_array_equal(tr.arange(5, 0, -2), [5, 3, 1])
        np.testing.assert_array_equal(tr.full((2, 2), 3), [[3, 3], [3, 3]])
        np.testing.assert_array_equal(tr.full((), 3), 3)
        self.assertEqual(tr.full((1,), 2**60 + 1, tr.i64).tolist(), [2**60 + 1])
        self.assertTrue(np.isnan(tr.full((2,), float("nan")).numpy()).all())
        self.assertEqual(tr.arange(0).shape, (0,))
        with self.assertRaises(tr.Error):
            tr.arange(0, 3, 0)
        np.testing.assert_array_equal(tr.eye(2), np.eye(2))
        np.testing.assert_array_equal(tr.linspace(0, 1, 5), np.linspace(0, 1, 5))
        self.assertEqual(tr.ones((0, 3)).shape, (0, 3))

    def test_threads(self):
        pending = tr.ones(2) + 1
        found = []

        def other():
            try:
                pending.eval()
            except tr.Error as error:
                found.append(str(error))
            found.append((tr.ones(2) * 3).numpy())

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        self.assertIn("another thread", found[0])
        np.testing.assert_array_equal(found[1], [3, 3])
        np.testing.assert_array_equal(pending, [2, 2])


class Gradients(unittest.TestCase):
    def test_of_trees(self):
        def loss(weights, x, scale=1.0):
            return ((weights["w"] * x + weights["parts"][0]) * scale).sum()

        weights = {"w": tr.array([1.0, 2.0]), "parts": [tr.array([3.0, 4.0])]}
        x = tr.array([5.0, 6.0])
        value, found = tr.value_and_grad(loss)(weights, x, scale=2.0)
        self.assertEqual(value.item(), 2 * (5 + 3 + 12 + 4))
        np.testing.assert_array_equal(found["w"], [10, 12])
        np.testing.assert_array_equal(found["parts"][0], [2, 2])
        by_both = tr.grad(loss, argnums=(0, 1))(weights, x)
        np.testing.assert_array_equal(by_both[1], [1, 2])
        gradient, aux = tr.grad(lambda y: ((y * y).sum(), "aux"), has_aux=True)(x)
        np.testing.assert_array_equal(gradient, [10, 12])
        self.assertEqual(aux, "aux")

    def test_of_gradients_and_branches(self):
        def f(x):
            y = (x * x * x).sum()
            return y * 2 if y.item() > 0 else y

        np.testing.assert_array_equal(tr.grad(f)(tr.array([1.0, 2.0])), [6, 24])
        np.testing.assert_array_equal(tr.grad(f)(tr.array([-1.0, -2.0])), [3, 12])
        second = tr.grad(lambda x: tr.grad(f)(x).sum())
        np.testing.assert_array_equal(second(tr.array([1.0, 2.0])), [12, 24])

    def test_wrong_functions(self):
        x = tr.array([1.0, 2.0])
        for function in (lambda y: y, lambda y: 3.0, lambda y: None):
            with self.assertRaises(tr.Error):
                tr.grad(function)(x)
        with self.assertRaises(tr.Error):
            tr.grad(lambda y: y.sum(), argnums=2)(x)
        with self.assertRaises(ZeroDivisionError):
            tr.grad(lambda y: 1 / 0)(x)
        with self.assertRaises(tr.Error):
            tr.grad(lambda y: y.sum().astype(tr.f32))(tr.array([1, 2]))
        np.testing.assert_array_equal(x + 1, [2, 3])  # the thread goes on


class Jits(unittest.TestCase):
    def test_records_once_for_each_type(self):
        calls = []

        @tr.jit
        def f(x, scale, power):
            calls.append(power)
            for _ in range(power):
                x = x * scale
            return {"x": x, "both": (x, scale)}

        for scale in (2.0, 3.0):
            result = f(tr.array([1.0, 2.0]), scale, 2)
            np.testing.assert_array_equal(result["x"], np.array([1, 2]) * scale ** 2)
            self.assertEqual(result["both"][1].item(), scale)
        self.assertEqual(calls, [2])
        f(tr.array([1.0, 2.0]), 2.0, 3)
        f(tr.array([1.0]), 2.0, 3)
        self.assertEqual(calls, [2, 3, 3])

    def test_with_gradients(self):
        def loss(x):
            return (x * x * x).sum()

        x = tr.array([1.0, 2.0])
        np.testing.assert_array_equal(tr.jit(tr.grad(loss))(x), [3, 12])
        np.testing.assert_array_equal(tr.grad(tr.jit(loss))(x), [3, 12])

    def test_cannot_read(self):
        with self.assertRaisesRegex(tr.Error, "jit"):
            tr.jit(lambda x: x if x.sum() > 0 else -x)(tr.array([1.0]))
        shown = []
        tr.jit(lambda x: (shown.append(repr(x)), x)[1])(tr.array([1.0]))
        self.assertIn("not computed", shown[0])


if __name__ == "__main__":
    unittest.main()
