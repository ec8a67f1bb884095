"""Models on real data: Fashion-MNIST."""

import contextlib
import io
import math
import tempfile
import unittest
from pathlib import Path

import numpy as np

import trireme as tr


def network(seed=1, **options):
    image = tr.Input((1, 28, 28), name="image")
    x = tr.nn.linear(tr.nn.flatten(image), 32, activation="relu")
    model = tr.Model(image, tr.nn.linear(x, 10))
    model.compile(tr.optim.Adam(lr=2e-3), "cross_entropy", metrics=["accuracy"], target="label",
                  seed=seed, threads=2, **options)
    return model


class FashionMnist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        train, test = tr.datasets.fashion_mnist("train"), tr.datasets.fashion_mnist("test")
        cls.train, cls.test = train.rows(0, 6000), test.rows(0, 1000)
        cls.x, cls.y = cls.train["image"], cls.train["label"]

    def test_trains_evaluates_and_predicts(self):
        model = network()
        history = model.fit(self.x, self.y, batch_size=64, epochs=2, progress=False,
                            validation_data=(self.test["image"], self.test["label"]))
        self.assertEqual(history.epoch, [0, 1])
        self.assertGreater(history["val_accuracy"][1], 0.75)
        self.assertLess(history["loss"][1], history["loss"][0])
        measured = model.evaluate(self.test["image"], self.test["label"])
        self.assertAlmostEqual(measured["accuracy"], history["val_accuracy"][1], places=6)
        scores = model.predict(self.test["image"])
        self.assertEqual(scores.shape, (1000, 10))
        accuracy = (scores.argmax(1) == self.test["label"]).mean()
        self.assertAlmostEqual(accuracy, measured["accuracy"], places=6)

    def test_arrays_and_data_sets_train_alike(self):
        arrays = network().fit(self.x, self.y, batch_size=64, progress=False)
        columns = tr.data.from_arrays({"image": self.x, "label": self.y})
        data = network().fit(columns, batch_size=64, progress=False)
        named = network().fit({"image": self.x}, self.y, batch_size=64, progress=False)
        floats = network().fit(self.x.astype("f8"), self.y.astype("i4"), batch_size=64,
                               progress=False)
        for history in (data, named, floats):
            self.assertEqual(history.history, arrays.history)

    def test_saves_and_loads(self):
        model = network()
        model.fit(self.x, self.y, batch_size=64, progress=False)
        expected = model.predict(self.test["image"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            model.save(path)
            loaded = tr.load_model(path)
            self.assertEqual([port.name for port in loaded.inputs], ["image"])
            np.testing.assert_allclose(loaded.predict({"image": self.test["image"]})[0], expected,
                                       rtol=1e-5, atol=1e-5)

    def test_quantizes_a_saved_model(self):
        model = network()
        model.fit(self.x, self.y, batch_size=64, progress=False)
        expected = model.predict(self.test["image"])
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            loaded = tr.load_model(Path(folder) / "model")
            small = loaded.quantize([{"image": self.x[:100]}])
            self.assertTrue(all(layer.quantized for layer in small.layers))
            self.assertGreater(small.parameter_bytes_before, 3.5 * small.parameter_bytes)
            small.model.save(Path(folder) / "small")
            again = tr.load_model(Path(folder) / "small")
            scores = again.predict({"image": self.test["image"]})[0]
            agree = (scores.argmax(1) == expected.argmax(1)).mean()
            self.assertGreater(agree, 0.98)
            kept = loaded.quantize([{"image": self.x[:100]}], keep=["*"])
            np.testing.assert_array_equal(kept.model.predict({"image": self.test["image"]})[0],
                                          loaded.predict({"image": self.test["image"]})[0])
            with self.assertRaisesRegex(tr.errors.UsageError, "there is no range"):
                loaded.quantize([{"image": self.x[:100]}], range="middle")
            with self.assertRaisesRegex(tr.errors.UsageError, "no batches"):
                loaded.quantize()
            small.model.compile(Path(folder) / "compiled")
            self.assertTrue((Path(folder) / "compiled" / "plan.json").exists())

    def test_compiles_again_and_keeps_the_parameters(self):
        model = network()
        model.fit(self.x, self.y, batch_size=64, progress=False)
        before = model.predict(self.test["image"])
        model.compile("sgd", "cross_entropy", metrics=["accuracy"], target="label")
        np.testing.assert_array_equal(model.predict(self.test["image"]), before)
        weights = model.get_weights()
        other = network(seed=5)
        other.set_weights(weights)
        np.testing.assert_array_equal(other.predict(self.test["image"]), before)

    def test_callbacks(self):
        calls = []

        class Record(tr.callbacks.Callback):
            def on_train_begin(self):
                calls.append("begin")

            def on_epoch_begin(self, epoch):
                calls.append(("epoch", epoch))

            def on_train_batch_end(self, step, loss):
                calls.append(step)

            def on_epoch_end(self, epoch, logs):
                calls.append(("end", epoch, sorted(logs)))

            def on_train_end(self):
                calls.append("end")

        network().fit(self.x[:128], self.y[:128], batch_size=64, epochs=2, progress=False,
                      callbacks=[Record()])
        names = ["accuracy", "loss"]
        self.assertEqual(calls, ["begin", ("epoch", 0), 1, 2, ("end", 0, names), ("epoch", 1), 3, 4,
                                 ("end", 1, names), "end"])

    def test_early_stopping_restores_the_best(self):
        model = network()
        stop = tr.callbacks.EarlyStopping("val_loss", patience=0, restore_best_weights=True)
        history = model.fit(self.x[:200], self.y[:200], batch_size=50, epochs=200, progress=False,
                            callbacks=[stop], validation_data=(self.test["image"][:200],
                                                               self.test["label"][:200]))
        losses = history["val_loss"]
        self.assertLess(len(losses), 200)
        self.assertEqual(stop.stopped_epoch, len(losses) - 1)
        after = model.evaluate(self.test["image"][:200], self.test["label"][:200])
        self.assertAlmostEqual(after["loss"], min(losses), places=6)

    def test_an_error_of_a_callback_ends_the_training(self):
        def fail(epoch, logs):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            network().fit(self.x[:64], self.y[:64], progress=False,
                          callbacks=[tr.callbacks.LambdaCallback(on_epoch_end=fail)])

    def test_progress_goes_to_stderr(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            network().fit(self.x[:128], self.y[:128], batch_size=64, epochs=2)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual(len(err.getvalue().splitlines()), 2)
        self.assertRegex(err.getvalue(), r"epoch 1/2  loss [0-9.]+  accuracy [0-9.]+  [0-9.]+ s")

    def test_summary(self):
        text = network().summary()
        self.assertIn("linear_0", text)
        self.assertIn(f"{784 * 32 + 32 + 32 * 10 + 10:,}", text)


class Errors(unittest.TestCase):
    def test_are_clear(self):
        x = tr.Input((3,))
        model = tr.Model(x, tr.nn.linear(x, 2))
        a = np.zeros((4, 3), "f4")
        with self.assertRaisesRegex(tr.Error, "no loss yet"):
            model.fit(a, a)
        with self.assertRaisesRegex(tr.Error, "no loss for Model.compile"):
            model.compile("adam", "cross_entropi")
        with self.assertRaisesRegex(tr.Error, "no optimizer"):
            model.compile("adamm", "mse")
        model.compile("adam", "mse")
        with self.assertRaisesRegex(tr.Error, "target y is missing"):
            model.fit(a)
        with self.assertRaises(tr.Error):
            model.fit(a, np.zeros((3, 2), "f4"), progress=False)
        with self.assertRaises(tr.Error):
            model.fit(np.zeros((4, 5), "f4"), np.zeros((4, 2)), progress=False)
        with self.assertRaises(tr.Error):
            model.fit([[1, 2, 3], [1]], np.zeros((2, 2)), progress=False)
        bad = np.full((4, 2), math.nan, "f4")
        with self.assertRaises(tr.errors.NumericError):
            model.fit(a, bad, progress=False)

    def test_two_networks_are_two_programs(self):
        first = tr.Input((3,))
        tr.Model(first, tr.nn.linear(first, 2))
        second = tr.Input((3,))
        self.assertNotEqual(first.program, second.program)


if __name__ == "__main__":
    unittest.main()
