"""Training loops of one's own: gradients, several updates, rates, freezing, shared parameters."""

import unittest

import numpy as np

import trireme as tr


class Gan:
    """Learns two numbers with a mean of (3, -1)."""

    def __init__(self):
        program = tr.Program("gan")
        self.noise = program.input("noise", tr.f32, ("batch", 4))
        self.real = program.input("real", tr.f32, ("batch", 2))
        with program.scope("generator"):
            self.fake = tr.nn.linear(tr.nn.linear(self.noise, 16, activation="tanh"), 2)

        def discriminate(x):
            with program.shared_scope("discriminator"):
                return tr.nn.linear(tr.nn.linear(x, 16, activation="leaky_relu"), 1)

        on_fake = discriminate(self.fake)
        self.loss_d = tr.mean(tr.nn.softplus(-discriminate(self.real))) + tr.mean(tr.nn.softplus(on_fake))
        self.loss_g = tr.mean(tr.nn.softplus(-on_fake))
        tr.minimize(self.loss_d, tr.optim.Adam(lr=5e-3, beta1=0.5), name="d",
                    parameters=["discriminator/*"])
        tr.minimize(self.loss_g, tr.optim.Adam(lr=5e-3, beta1=0.5), name="g",
                    parameters=["generator/*"])
        self.program = program


class Loops(unittest.TestCase):
    def test_a_gan_finds_the_mean(self):
        gan = Gan()
        session = tr.Session(gan.program, threads=1)
        random = np.random.default_rng(1)

        def noise():
            return random.normal(size=(64, 4)).astype("f4")

        before = session.run({"noise": noise()}, gan.fake).mean(0)
        for _ in range(300):
            real = (random.normal(size=(64, 2)) * 0.5 + [3, -1]).astype("f4")
            session.run({"noise": noise(), "real": real}, [], training=True, updates="d")
            session.run({"noise": noise()}, [], training=True, updates="g")
        after = session.run({"noise": noise()}, gan.fake).mean(0)
        self.assertLess(np.abs(after - [3, -1]).max(), 1)
        self.assertGreater(np.abs(before - [3, -1]).max(), 1)

    def test_gradients_by_inputs_and_of_gradients(self):
        x = tr.Program().input("x", tr.f64, ("n",))
        first, = tr.gradients(tr.sum(x**3), [x])
        penalty, = tr.gradients(tr.sum(first**2), [x])
        a = np.array([2.0, -1.0, 0.5])
        results = tr.Session(x.program).run({"x": a}, [first, penalty])
        np.testing.assert_allclose(results[0], 3 * a**2)
        np.testing.assert_allclose(results[1], 36 * a**3)

    def test_rates_freezing_and_sharing(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("n", 3))
        loss = tr.mean(tr.nn.linear(x, 2, name="layer") ** 2)
        tr.minimize(loss, tr.optim.Sgd(0.5), adjustable_rate=True)
        session = tr.Session(program)
        a = np.ones((4, 3), "f4")

        def change():
            before = session.parameter("layer.weight")
            session.run({"x": a}, [], training=True, updates=True)
            return np.abs(session.parameter("layer.weight") - before).max()

        self.assertGreater(change(), 0)
        session.set_learning_rate(0)
        self.assertEqual(session.learning_rate(), 0)
        self.assertEqual(change(), 0)
        session.set_learning_rate(0.1)
        session.freeze("layer.*")
        self.assertEqual(change(), 0)
        session.unfreeze("*")
        other = tr.Session(program, session)
        self.assertGreater(change(), 0)
        np.testing.assert_array_equal(other.parameter("layer.weight"),
                                      session.parameter("layer.weight"))
        with self.assertRaisesRegex(tr.Error, "no updates"):
            session.run({"x": a}, [], updates="d")
        with self.assertRaisesRegex(tr.Error, "no updates"):
            session.learning_rate("d")


if __name__ == "__main__":
    unittest.main()
