"""Programs, ops and Sessions from Python."""

import copy
import gc
import inspect
import pickle
import unittest

import numpy as np

import trireme as tr


def line():
    return inspect.currentframe().f_back.f_lineno


class Run(unittest.TestCase):
    def setUp(self):
        self.program = tr.Program("test")
        self.x = self.program.input("x", tr.f32, ("batch", 4))
        self.a = np.arange(8, dtype=np.float32).reshape(2, 4)

    def run_one(self, value, array):
        return tr.Session(self.program, threads=2).run({"x": array}, [value])[0]

    def test_ops_and_operators(self):
        y = tr.ops.tanh(self.x * 2.0 + 1) / 3 - 0.5**self.x
        self.assertEqual(y.shape, ("batch", 4))
        self.assertEqual(y.dtype, tr.f32)
        np.testing.assert_allclose(self.run_one(y, self.a),
                                   np.tanh(self.a * 2 + 1) / 3 - 0.5**self.a, rtol=1e-6)
        total = tr.sum(self.x, 1, keepdims=True)
        self.assertEqual(total.shape, ("batch", 1))
        np.testing.assert_array_equal(self.run_one(total, self.a), self.a.sum(1, keepdims=True))
        joined = tr.concat([self.x, self.x], axis=0)
        self.assertEqual(joined.shape, ("2*batch", 4))
        chosen = tr.where(self.x > 2, self.x, -1)
        np.testing.assert_array_equal(self.run_one(chosen, self.a), np.where(self.a > 2, self.a, -1))
        same = tr.cast(self.x == 3.0, tr.f32)
        np.testing.assert_array_equal(self.run_one(same, self.a), self.a == 3)

    def test_a_value_keeps_its_program(self):
        def build():
            program = tr.Program("gone")
            return program.input("x", tr.f32, ("batch",)) * 2

        y = build()
        gc.collect()
        self.assertEqual(y.program.name, "gone")
        result = tr.Session(y.program).run({"x": np.ones(3, "f4")}, y)
        np.testing.assert_array_equal(result, [2, 2, 2])

    def test_a_value_has_no_truth(self):
        with self.assertRaisesRegex(tr.Error, "truth value"):
            bool(self.x == 1)
        self.assertEqual(len({self.x, self.program.find("x")}), 1)
        self.assertIs(self.x, self.program.find("x"))

    def test_arrays_of_every_form(self):
        y = -self.x
        forms = [self.a, self.a.T.copy().T, self.a[:, ::-1], self.a.astype(">f4"), self.a[:0],
                 np.broadcast_to(self.a[0], (3, 4))]
        read_only = self.a.copy()
        read_only.flags.writeable = False
        for array in [*forms, read_only]:
            np.testing.assert_array_equal(self.run_one(y, array), -array)

    def test_results_outlive_their_session(self):
        first = self.run_one(self.x + 1, self.a)
        kept = copy.copy(first)
        for _ in range(3):
            self.run_one(self.x + 2, self.a)
        np.testing.assert_array_equal(first, kept)

    def test_every_dtype(self):
        types = {"boolean": "?", "u8": "u1", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8",
                 "f16": "f2"}
        for name, numpy_name in types.items():
            program = tr.Program()
            x = program.input("x", getattr(tr, name), ("n",))
            array = np.array([0, 1, 1], numpy_name)
            result = tr.Session(program).run({"x": array}, [tr.flip(x, axis=0)])[0]
            self.assertEqual(result.dtype, array.dtype)
            np.testing.assert_array_equal(result, array[::-1])


class Errors(unittest.TestCase):
    def test_point_at_the_line_and_can_be_pickled(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("batch", 4))
        y = program.input("y", tr.f32, (3,))
        with self.assertRaises(tr.errors.UsageError) as caught:
            expected = line() + 1
            tr.ops.add(x, y)
        self.assertIn(f"test_program.py:{expected}", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), str(again)), (tr.errors.UsageError, str(caught.exception)))

    def test_wrong_feeds(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("batch", 4))
        session = tr.Session(program)
        for feeds in [{}, {"x": np.zeros((2, 5), "f4")}, {"x": np.zeros((2, 4), "f8")},
                      {"x": np.zeros((2, 4), "c8")}, {"x": "text"}, {"x": None}, {"x": [[], [1]]},
                      {"y": np.zeros(1)}]:
            with self.subTest(feeds=feeds), self.assertRaises(tr.Error):
                session.run(feeds, [x])

    def test_wrong_shapes(self):
        for shape in [("1batch",), (-1,), ("",)]:
            with self.subTest(shape=shape), self.assertRaises(tr.Error):
                tr.Program().input("x", tr.f32, shape)


if __name__ == "__main__":
    unittest.main()
