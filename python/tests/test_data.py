"""What fit() takes: iterables, sequences of different lengths, data frames."""

import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

import trireme as tr


def linear_model(**options):
    x = tr.Input((3,), name="x")
    model = tr.Model(x, tr.nn.linear(x, 1))
    model.compile(tr.optim.Sgd(0.1), "mse", threads=1, **options)
    return model


RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(60, 3)).astype("f4")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "f4")


class Loader:
    """Batches that can be read again, as those of PyTorch's DataLoader."""

    def __len__(self):
        return 6

    def __iter__(self):
        for i in range(0, 60, 10):
            yield X[i:i + 10], Y[i:i + 10]


class Streams(unittest.TestCase):
    def test_a_loader_trains_as_arrays_do(self):
        arrays = linear_model().fit(X, Y, batch_size=10, epochs=3, shuffle=False, progress=False)
        loader = linear_model().fit(Loader(), epochs=3, progress=False)
        np.testing.assert_allclose(loader["loss"], arrays["loss"], rtol=1e-6)
        dicts = ({"x": x, "target": y, "other": y} for _ in range(3) for x, y in Loader())
        named = linear_model().fit(dicts, epochs=3, steps_per_epoch=6, progress=False)
        np.testing.assert_allclose(named["loss"], arrays["loss"], rtol=1e-6)

    def test_data_that_end_early_or_raise(self):
        with self.assertRaisesRegex(tr.errors.DataError, "ended after 6 batches, in epoch 2 of 3"):
            linear_model().fit(iter(Loader()), epochs=3, progress=False)
        with self.assertRaisesRegex(tr.errors.DataError, "ended after 0 batches"):
            linear_model().fit(iter([]), epochs=1, progress=False)

        def broken():
            yield X[:10], Y[:10]
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            linear_model().fit(broken(), progress=False)
        with self.assertRaisesRegex(tr.Error, r"is \(x, y\)"):
            linear_model().fit(iter([X]), progress=False)

    def test_validation_and_callbacks(self):
        class Stop(tr.callbacks.Callback):
            def on_epoch_end(self, epoch, logs):
                self.model.stop_training = epoch == 1

        history = linear_model().fit(Loader(), epochs=9, validation_data=(X, Y), progress=False,
                                     callbacks=[Stop()])
        self.assertEqual(history.epoch, [0, 1])
        self.assertEqual(sorted(history.history), ["loss", "val_loss"])


class Rates(unittest.TestCase):
    def test_a_scheduler_sets_the_rate_of_each_epoch(self):
        rates = []
        model = linear_model()
        model.fit(X, Y, epochs=3, progress=False, callbacks=[
            tr.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else rate),
            tr.callbacks.LambdaCallback(
                on_epoch_end=lambda epoch, logs: rates.append(model.learning_rate))])
        np.testing.assert_allclose(rates, [0.1, 0.05, 0.025])

    def test_a_plateau_reduces_the_rate(self):
        model = linear_model()
        model.fit(X, Y, epochs=5, progress=False, callbacks=[
            tr.callbacks.ReduceLROnPlateau("loss", patience=2, min_delta=1e9, min_lr=0.004)])
        # The first epoch is the best one; 2 and 3, then 4 and 5 are no better.
        self.assertAlmostEqual(model.learning_rate, 0.004)


class Ragged(unittest.TestCase):
    def test_lists_of_lists(self):
        words = tr.Input(levels=1, dtype=tr.i64, name="words")
        table = tr.nn.embedding(words, 10, 4)
        model = tr.Model(words, tr.nn.linear(tr.sequence.mean(table), 2))
        model.compile("adam", "cross_entropy", metrics=["accuracy"], threads=1)
        texts = [[1, 2, 3], [4], [], [5, 6, 7, 8]] * 5
        labels = [0, 1, 1, 0] * 5
        history = model.fit(texts, labels, batch_size=4, epochs=30, progress=False)
        self.assertEqual(history["accuracy"][-1], 1)
        scores = model.predict(texts, batch_size=3)
        self.assertEqual(scores.shape, (20, 2))
        np.testing.assert_array_equal(scores.argmax(1), labels)
        np.testing.assert_allclose(scores[4:8], scores[:4], rtol=1e-6)
        with self.assertRaisesRegex(tr.Error, "example 1 is one number"):
            model.predict([[1], 2])


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        return self._columns[name]

    def __contains__(self, name):
        return name in self._columns

    def to_numpy(self):
        return np.stack(list(self._columns.values()), 1)


class Frames(unittest.TestCase):
    def test_columns_are_inputs_or_features(self):
        frame = Frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
        arrays = linear_model().fit(X, Y, progress=False)
        self.assertEqual(linear_model().fit(frame, Y, progress=False).history, arrays.history)
        a, b = tr.Input((1,), name="a"), tr.Input((1,), name="b")
        model = tr.Model([a, b], tr.nn.linear(tr.concat([a, b], axis=1), 1))
        model.compile("sgd", "mse", threads=1)
        model.fit(frame, Y, progress=False)
        self.assertEqual(model.predict(frame).shape, (60, 1))

    def test_real_frames(self):
        arrays = linear_model().fit(X, Y, progress=False)
        for library in ("pandas", "polars"):
            with self.subTest(library):
                if importlib.util.find_spec(library) is None:
                    self.skipTest(f"{library} is not installed")
                made = importlib.import_module(library).DataFrame
                frame = made({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
                target = made({"y": Y[:, 0]})
                for y in (Y, target, target["y"]):
                    self.assertEqual(linear_model().fit(frame, y, progress=False).history,
                                     arrays.history)
                a, b = tr.Input((1,), name="a"), tr.Input((1,), name="b")
                model = tr.Model([a, b], tr.nn.linear(tr.concat([a, b], axis=1), 1))
                model.compile("sgd", "mse", threads=1)
                model.fit(frame, target["y"], progress=False)
                np.testing.assert_array_equal(
                    model.predict(frame), model.predict({"a": X[:, :1], "b": X[:, 1:2]}))
                with self.assertRaisesRegex(tr.errors.UsageError, "2 inputs"):
                    model.predict(frame[["a"]])
                with self.assertRaisesRegex(tr.errors.DataError, "objects"):
                    linear_model().fit(made({"a": ["x"] * 60}), Y, progress=False)


LOADER = """
import importlib.util, sys
import numpy as np
if importlib.util.find_spec("torch") is None:
    sys.exit("no torch")
import torch
import trireme as tr
random = np.random.default_rng(1)
x = random.normal(size=(60, 3)).astype("f4")
y = x @ np.float32([[1.0], [-2.0], [0.5]])

def train(data, **options):
    inputs = tr.Input((3,), name="x")
    model = tr.Model(inputs, tr.nn.linear(inputs, 1))
    model.compile(tr.optim.Sgd(0.1), "mse", threads=2)
    return model.fit(data, epochs=3, progress=False, **options)["loss"]

tensors = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
expected = train(x, y=y, batch_size=10, shuffle=False)
for workers in (0, 2):
    loader = torch.utils.data.DataLoader(tensors, batch_size=10, num_workers=workers)
    np.testing.assert_allclose(train(loader), expected, rtol=1e-6)
print("same")
"""


class Loaders(unittest.TestCase):
    """PyTorch's DataLoader, whose workers are children of fork(), beside the threads of a
    Session."""

    def test_workers(self):
        environment = {**os.environ, "PYTHONPATH": os.fspath(Path(tr.__file__).parents[1])}
        for python in filter(os.path.exists, (sys.executable, "/usr/bin/python3")):
            done = subprocess.run([python, "-c", LOADER], capture_output=True, text=True,
                                  timeout=120, env=environment)
            if done.stderr != "no torch\n" and "No module named" not in done.stderr:
                self.assertEqual(done.stdout, "same\n", done.stderr)
                return
        self.skipTest("PyTorch is not installed")


if __name__ == "__main__":
    unittest.main()
