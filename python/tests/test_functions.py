"""The functions made from the public headers: signatures, options, errors."""

import inspect
import unittest

import numpy as np

import trireme as tr

MODULES = [tr.ops, tr.nn, tr.losses, tr.metrics, tr.sequence, tr.optim, tr.schedules, tr.datasets]


class Signatures(unittest.TestCase):
    def test_options_are_keywords(self):
        parameters = inspect.signature(tr.nn.linear).parameters
        self.assertEqual(list(parameters)[:2], ["x", "units"])
        self.assertEqual(parameters["units"].default, inspect.Parameter.empty)
        self.assertEqual(parameters["bias"].default, True)
        self.assertEqual(parameters["bias"].kind, inspect.Parameter.KEYWORD_ONLY)
        self.assertIn("weight [in, units]", tr.nn.linear.__doc__)

    def test_every_function_has_a_doc_string(self):
        lacking = [f"{module.__name__}.{name}" for module in MODULES for name in module.__all__
                   if not (getattr(module, name).__doc__ or "").strip()]
        self.assertEqual(lacking, [])

    def test_words_of_numpy(self):
        self.assertEqual(list(inspect.signature(tr.sum).parameters), ["x", "axis", "keepdims"])


class Attention(unittest.TestCase):
    def test_in_blocks_as_by_numpy(self):
        q, k, v = (np.random.default_rng(3).normal(size=(2, 4, 5, 3)).astype("f4")
                   for _ in range(3))
        scores = q @ k.swapaxes(2, 3) / 3**0.5
        scores = np.exp(np.where(np.tri(5) > 0, scores, -np.inf))
        wanted = scores / scores.sum(-1, keepdims=True) @ v
        for blockwise in (False, True):
            got = tr.nn.scaled_dot_product_attention(tr.array(q), tr.array(k), tr.array(v),
                                                     causal=True, blockwise=blockwise)
            np.testing.assert_allclose(np.asarray(got), wanted, atol=1e-5)

    def test_options_that_are_classes(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("batch", "steps", 8))
        y = tr.nn.multi_head_attention(
            x, x, x, heads=4, key_heads=2, rotary=tr.nn.Rotary(base=500.0, interleaved=False))
        z = tr.nn.multi_head_attention(
            y, y, y, heads=4, relative=tr.nn.RelativePositions(kind="learned", buckets=8))
        self.assertEqual(z.shape, ("batch", "steps", 8))
        self.assertIn((8, 4), [p.shape for p in program.parameters])


class Options(unittest.TestCase):
    def setUp(self):
        self.program = tr.Program()
        self.image = self.program.input("image", tr.f32, ("batch", 3, 8, 8))
        self.x = self.program.input("x", tr.f32, ("batch", 4))

    def test_sizes_of_every_form(self):
        for kernel, padding in [(3, 1), ((3, 5), (1, 2)), (np.int64(3), "same"),
                                ([3, 3], (1, 1, 1, 1))]:
            y = tr.nn.conv2d(self.image, 6, kernel=kernel, padding=padding)
            self.assertEqual(y.shape, ("batch", 6, 8, 8))

    def test_activations_by_name_and_as_functions(self):
        by_name = tr.nn.linear(self.x, 2, activation="relu", weight_init=tr.nn.ones())
        by_function = tr.nn.linear(self.x, 2, activation=tr.nn.relu, weight_init=tr.nn.ones())
        of_own = tr.nn.linear(self.x, 2, activation=lambda v: tr.maximum(v, 0.0),
                              weight_init=tr.nn.ones())
        a = np.random.default_rng(1).normal(size=(5, 4)).astype("f4")
        results = tr.Session(self.program).run({"x": a}, [by_name, by_function, of_own])
        expected = np.maximum(a.sum(1, keepdims=True), 0).repeat(2, 1)
        for result in results:
            np.testing.assert_allclose(result, expected, rtol=1e-5)

    def test_structs_are_tuples_and_settings_are_classes(self):
        h = self.program.input("h", tr.f32, ("batch", 4))
        new_h, new_c = tr.nn.lstm_cell(self.x, (h, h), 4)
        self.assertEqual((new_h.shape, new_c.shape), (("batch", 4), ("batch", 4)))
        for settings in [tr.nn.ParameterSettings(frozen=True), {"frozen": True}]:
            y = tr.nn.linear(self.x, 2, weight_settings=settings)
            self.assertEqual(y.shape, ("batch", 2))
        self.assertIn("frozen", str(self.program))

    def test_functions_as_operands(self):
        total = tr.cond(tr.sum(self.x) > 0, lambda: tr.sum(self.x), lambda: tr.sum(-self.x))
        session = tr.Session(self.program)
        for sign in (1, -1):
            a = np.full((2, 4), sign, "f4")
            self.assertEqual(session.run({"x": a}, total), 8)

    def test_functions_of_two_values(self):
        loss = tr.losses.triplet_margin(
            self.x, self.x + 1.0, self.x * 2.0, margin=2,
            distance=lambda a, b: tr.sum(tr.abs(a - b), 1))
        a = np.random.default_rng(1).normal(size=(5, 4)).astype("f4")
        expected = np.maximum(4 - np.abs(a).sum(1) + 2, 0)
        np.testing.assert_allclose(tr.Session(self.program).run({"x": a}, loss), expected, rtol=1e-5)

    def test_schedules_one_after_the_other(self):
        schedule = tr.schedules.sequential([0.5, tr.schedules.cyclic(0.1, 0.3, 2)], [3])
        rates = [schedule.at(step) for step in range(7)]
        np.testing.assert_allclose(rates, [0.5, 0.5, 0.5, 0.1, 0.2, 0.3, 0.2])
        pieces = tr.schedules.piecewise_constant([1, 0.5], 2)
        self.assertEqual([pieces.at(1), pieces.at(2)], [1, 0.5])

    def test_wrong_types_are_clear(self):
        cases = [
            (lambda: tr.nn.linear(self.x, "ten"), r"nn\.linear: units is 'ten', of type str"),
            (lambda: tr.nn.linear(3.0, 2), r"nn\.linear: x is 3\.0, of type float"),
            (lambda: tr.nn.linear(self.x, 2**70), "does not fit into 64 bits"),
            (lambda: tr.nn.linear(self.x, 2, activation="rellu"), "relu"),
            (lambda: tr.nn.conv2d(self.image, 6, kernel=(1, 2, 3)), r"kernel is \(1, 2, 3\)"),
            (lambda: tr.optim.Adam(lr=1, learning_rate=1), "both learning_rate and lr"),
            (lambda: tr.cast(self.x, "f33"), "no dtype"),
            (lambda: tr.losses.cross_entropy(self.x, self.x, reduction="men"), "mean"),
            (lambda: tr.nn.linear(self.x, 2, activation=lambda v: 3)(0), "activation"),
            (lambda: tr.nn.linear(self.x, None), "units is None"),
        ]
        for action, message in cases:
            with self.subTest(message=message), self.assertRaisesRegex(tr.Error, message):
                action()
        with self.assertRaises(TypeError):
            tr.nn.linear(self.x)


class Steps(unittest.TestCase):
    def test_a_step_of_python(self):
        program = tr.Program()
        words = program.input("words", tr.f32, ("batch", 2), levels=1)

        @tr.nn.rnn
        def run(step):
            word = step.input(words)
            total = step.state(width=2)
            new = total + word
            step.update(total, new)
            step.output(new)

        (sums,), (last,) = run
        rows = np.arange(10, dtype="f4").reshape(5, 2)
        splits = np.array([0, 2, 2, 5])
        result, end = tr.Session(program).run({"words": rows, "words.splits": splits},
                                              [sums, last])
        expected = np.concatenate([rows[:2].cumsum(0), rows[2:].cumsum(0)])
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(end, [rows[:2].sum(0), [0, 0], rows[2:].sum(0)])


if __name__ == "__main__":
    unittest.main()
