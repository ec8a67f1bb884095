"""Optimizers and schedules with more than formulas: Lbfgs, Muon, schedule-free, functions."""

import unittest

import numpy as np

import trireme as tr


def regression(optimizer, **options):
    """The program, loss and feeds of a linear regression with weights (2, -1) and bias 0.5."""
    program = tr.Program("regression")
    x = program.input("x", tr.f64, ("batch", 2))
    y = program.input("y", tr.f64, ("batch", 1))
    loss = tr.mean(tr.losses.mse(tr.nn.linear(x, 1, name="linear"), y))
    if optimizer is not None:
        tr.minimize(loss, optimizer, **options)
    points = np.random.default_rng(1).normal(size=(40, 2))
    targets = points @ [[2.0], [-1.0]] + 0.5
    return program, loss, {"x": points, "y": targets}


class LimitedMemory(unittest.TestCase):
    def test_finds_the_solution(self):
        program, loss, feeds = regression(None)
        session = tr.Session(program)
        result = tr.optim.Lbfgs(session, loss, gradient_tolerance=1e-10).minimize(feeds)
        self.assertTrue(result.converged)
        self.assertLess(result.loss, 1e-15)
        self.assertLess(result.iterations, 20)
        self.assertGreaterEqual(result.evaluations, result.iterations)
        self.assertLessEqual(result.gradient, 1e-6)
        np.testing.assert_allclose(session.parameter("linear.weight"), [[2], [-1]], atol=1e-7)
        np.testing.assert_allclose(session.parameter("linear.bias"), [0.5], atol=1e-7)

    def test_errors(self):
        program, loss, feeds = regression(None)
        session = tr.Session(program)
        with self.assertRaisesRegex(tr.errors.UsageError, "history"):
            tr.optim.Lbfgs(session, loss, history=0)
        with self.assertRaisesRegex(tr.errors.UsageError, "scalar"):
            tr.optim.Lbfgs(session, 3)
        with self.assertRaisesRegex(tr.errors.UsageError, "pattern"):
            tr.optim.Lbfgs(session, loss, parameters=["nothing*"])
        feeds["y"][0] = np.nan
        with self.assertRaises(tr.errors.NumericError):
            tr.optim.Lbfgs(session, loss).minimize(feeds)


class Optimizers(unittest.TestCase):
    def test_train(self):
        for optimizer in [tr.optim.Muon(0.05, adamw_factor=1), "schedulefreeadamw",
                          tr.optim.ScheduleFreeSgd(0.2)]:
            if isinstance(optimizer, str):
                optimizer = tr.optim.by_name(optimizer)
            program, loss, feeds = regression(optimizer)
            session = tr.Session(program)
            before = session.run(feeds, loss)
            for _ in range(60):
                session.run(feeds, [], updates=True)
            self.assertLess(session.run(feeds, loss), before * 0.9)

    def test_schedule_free_keeps_an_average(self):
        program, _, feeds = regression(tr.optim.ScheduleFreeSgd(0.1))
        session = tr.Session(program)
        for _ in range(3):
            session.run(feeds, [], updates=True)
        self.assertFalse(np.array_equal(session.parameter("linear.weight"),
                                        session.parameter("linear.weight.average")))


class FunctionSchedules(unittest.TestCase):
    def test_is_recorded_once_for_each_use(self):
        calls = []

        def rate(step):
            calls.append(step)
            return tr.where(step < 2, 0.5, 0.1 / step)

        schedule = tr.schedules.function(rate)
        self.assertEqual(len(calls), 1)
        program, _, feeds = regression(tr.optim.Sgd(schedule))
        self.assertEqual(len(calls), 2)
        session = tr.Session(program)
        rates = []
        for _ in range(4):
            rates.append(session.learning_rate())
            session.run(feeds, [], updates=True)
        self.assertEqual(len(calls), 2)
        np.testing.assert_allclose(rates, [0.5, 0.5, 0.05, 0.1 / 3], rtol=1e-15)

    def test_in_a_model(self):
        x = tr.Input((2,), name="x")
        model = tr.Model(x, tr.nn.linear(x, 1))
        schedule = tr.schedules.function(lambda step: 0.1 * tr.exp(-0.01 * step))
        model.compile(tr.optim.Sgd(schedule), "mse")
        history = model.fit(np.ones((8, 2), np.float32), np.ones((8, 1), np.float32), epochs=3,
                            batch_size=4)
        self.assertIsNotNone(history)

    def test_errors(self):
        for wrong in [lambda step: 3, lambda step: -1 - step, lambda step: tr.stack([step, step])]:
            with self.assertRaises(tr.Error):
                tr.schedules.function(wrong)


class NewLayers(unittest.TestCase):
    def test_activations(self):
        x = np.array([-2.0, 0.5, 3.0])
        given = tr.array(x)
        np.testing.assert_array_equal(tr.nn.threshold(given, 1, -7).numpy(), [-7, -7, 3])
        np.testing.assert_allclose(tr.nn.swish(given, 2).numpy(), x / (1 + np.exp(-2 * x)))

    def test_unpooling(self):
        x = np.random.default_rng(2).normal(size=(2, 3, 6, 4))
        values, indices = tr.nn.max_pool_with_indices(tr.array(x), kernel=2)
        np.testing.assert_array_equal(values.numpy(),
                                      x.reshape(2, 3, 3, 2, 2, 2).max((3, 5)))
        back = tr.nn.max_unpool(values, indices, (6, 4)).numpy()
        np.testing.assert_array_equal(back[back != 0], x[back != 0])
        self.assertEqual(np.count_nonzero(back), 36)
        with self.assertRaises(tr.errors.DataError):
            tr.nn.max_unpool(values, indices, (3, 4)).numpy()
        # Elements that have one place: their mean.
        again = tr.nn.max_unpool1d(tr.array([[[2.0, 4.0]]]), tr.array([[[1, 1]]]), 3)
        np.testing.assert_array_equal(again.numpy(), [[[0, 3, 0]]])

    def test_recurrent_states(self):
        program = tr.Program("states")
        x = program.input("x", tr.f32, ("batch", 5, 2))
        outputs, h, c = tr.nn.lstm_with_states(x, 3, layers=2)
        session = tr.Session(program)
        y, last, _ = session.run({"x": np.ones((4, 5, 2), np.float32)}, [outputs, h, c])
        self.assertEqual((y.shape, last.shape), ((4, 5, 3), (2, 4, 3)))
        np.testing.assert_array_equal(y[:, -1], last[1])


if __name__ == "__main__":
    unittest.main()
