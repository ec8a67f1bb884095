"""Data sets made of others, and of generators: filter, folds, samples, caches, streams."""

import itertools
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import trireme as tr

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(60, 3)).astype("f4")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "f4")


def numbers(count=10):
    return tr.data.from_arrays({"id": np.arange(count), "x": np.arange(count, dtype="f4")})


def ids(batches):
    return np.concatenate([batch["id"] for batch in batches]).tolist()


class Pictures(unittest.TestCase):
    def test_changes_of_pictures(self):
        images = RANDOM.uniform(size=(4, 3, 8, 8)).astype("f4")
        data = tr.data.from_arrays({"image": images})
        np.testing.assert_array_equal(data.vertical_flip(probability=1).all()["image"],
                                      images[:, :, ::-1])
        np.testing.assert_array_equal(data.flip(probability=1).all()["image"], images[..., ::-1])
        np.testing.assert_array_equal(data.center_crop(4).all()["image"], images[..., 2:6, 2:6])
        np.testing.assert_allclose(data.resize(4, 4).all()["image"],
                                   images.reshape(4, 3, 4, 2, 4, 2).mean((3, 5)), atol=1e-6)
        gray = data.grayscale(probability=1).all()["image"]
        np.testing.assert_allclose(gray[:, 2], np.tensordot(images, [.299, .587, .114], (1, 0)),
                                   atol=1e-6)
        for changed in (data.random_resized_crop(8), data.random_crop(8, padding=1),
                        data.rotate(20), data.blur(), data.color_jitter(), data.cutout(3),
                        data.normalize([0.5], [0.25])):
            self.assertFalse(np.array_equal(changed.all()["image"], images))
            self.assertEqual(changed.all()["image"].shape, images.shape)
        with self.assertRaisesRegex(tr.errors.UsageError, "in \\[0, 360\\]"):
            data.rotate(-1)


class Choices(unittest.TestCase):
    def test_filter_and_map(self):
        odd = numbers().filter(lambda one: one["id"][0] % 2)
        self.assertEqual(odd.all()["id"].tolist(), [1, 3, 5, 7, 9])
        doubled = numbers(4).map(lambda batch: {"id": 2 * batch["id"]})
        self.assertEqual(ids(doubled.batch(3, threads=2)), [0, 2, 4, 6])
        with self.assertRaisesRegex(KeyError, "other"):
            numbers().filter(lambda one: one["other"])

    def test_select(self):
        self.assertEqual(numbers(9).select([7, 2, 2]).all()["id"].tolist(), [7, 2, 2])
        with self.assertRaisesRegex(tr.errors.UsageError, "no example 9; there are 9"):
            numbers(9).select([9])

    def test_k_fold(self):
        folds = numbers(7).k_fold(3, seed=2)
        self.assertEqual([(len(a), len(b)) for a, b in folds], [(4, 3), (5, 2), (5, 2)])
        validated = [i for _, fold in folds for i in fold.all()["id"].tolist()]
        self.assertEqual(sorted(validated), list(range(7)))

    def test_sample(self):
        drawn = numbers(3).sample([0, 1, 3], count=400, seed=1)
        counts = np.bincount(drawn.all()["id"], minlength=3)
        self.assertEqual((counts[0], counts.sum()), (0, 400))
        self.assertTrue(250 < counts[2] < 350)
        self.assertNotEqual(ids(drawn.batch(50).epoch(0)), ids(drawn.batch(50).epoch(1)))
        with self.assertRaisesRegex(tr.errors.UsageError, "2 weights for 3 examples"):
            numbers(3).sample([1, 1])

    def test_concatenate(self):
        both = tr.data.concatenate([numbers(3), numbers(5).skip(4)])
        self.assertEqual(both.all()["id"].tolist(), [0, 1, 2, 4])
        with self.assertRaisesRegex(tr.errors.UsageError, "no data sets"):
            tr.data.concatenate([])

    def test_cache(self):
        calls = []

        def counted(batch):
            calls.extend(batch["id"].tolist())
            return batch

        kept = numbers().map(counted).cache()
        calls.clear()  # map() looks at the first example
        for epoch in range(3):
            self.assertEqual(sorted(ids(kept.shuffle(1).batch(3, threads=2).epoch(epoch))),
                             list(range(10)))
        self.assertEqual(sorted(calls), list(range(10)))
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "kept.trec")
            self.assertEqual(numbers().cache(path).all()["id"].tolist(), list(range(10)))
            with self.assertRaisesRegex(tr.errors.DataError, "of another data set"):
                numbers(3).cache(path)


def examples(count=60):
    for i in range(count):
        yield {"x": X[i % 60], "target": Y[i % 60]}


def model_of():
    x = tr.Input((3,), name="x")
    model = tr.Model(x, tr.nn.linear(x, 1))
    model.compile(tr.optim.Adam(0.1), "mse", threads=1, seed=1)
    return model


class Generators(unittest.TestCase):
    def test_trains_as_arrays_do(self):
        data = tr.data.from_generator(examples)
        self.assertEqual((len(data), data.is_forward_only), (60, True))
        streamed = model_of().fit(data, batch_size=10, epochs=3, progress=False)
        arrays = model_of().fit(X, Y, batch_size=10, epochs=3, shuffle=False, progress=False)
        self.assertEqual(streamed["loss"], arrays["loss"])

    def test_resumes_within_an_epoch_bit_for_bit(self):
        def data():
            return tr.data.from_generator(lambda: examples(10 ** 9), examples=60, endless=True,
                                          shuffle_buffer=16, seed=3)

        def fit(model, folder, **options):
            model.fit(data(), batch_size=8, epochs=3, progress=False, checkpoint_directory=folder,
                      **options)
            return model.get_weights()

        with tempfile.TemporaryDirectory() as folder:
            whole = fit(model_of(), folder + "/whole")
            fit(model_of(), folder + "/parts", max_steps=11)  # within the second epoch
            resumed = fit(model_of(), folder + "/parts", resume=True)
        for name, weight in whole.items():
            np.testing.assert_array_equal(resumed[name], weight)

    def test_batches_and_sequences(self):
        data = tr.data.from_generator(
            lambda: ({"id": np.arange(4) + 4 * i} for i in range(3)), batched=True)
        self.assertEqual(ids(data.batch(5, threads=3)), list(range(12)))
        with self.assertRaisesRegex(tr.errors.UsageError, "shuffle: a stream"):
            data.shuffle(1)
        self.assertEqual(sorted(ids(data.cache().shuffle(1).batch(5))), list(range(12)))

    def test_errors_of_the_generator(self):
        def broken():
            yield {"id": 0}
            yield {"id": 1}
            raise KeyError("mine")

        data = tr.data.from_generator(broken, examples=5)
        with self.assertRaisesRegex(KeyError, "mine"):
            ids(data.batch(1, threads=2))
        with self.assertRaisesRegex(tr.errors.DataError, "ended after 2 examples, but an epoch has 5"):
            ids(tr.data.from_generator(lambda: itertools.islice(broken(), 2), examples=5).batch(5))
        with self.assertRaisesRegex(tr.errors.UsageError, "needs StreamOptions.examples"):
            tr.data.from_generator(examples, endless=True)
        with self.assertRaises(AttributeError):  # 3 has no columns
            tr.data.from_generator(lambda: [3], examples=2)
        with self.assertRaisesRegex(tr.errors.UsageError, "a dict of arrays, not list"):
            numbers().map(lambda batch: [batch])

    def test_batches_that_are_left_halfway_end_their_threads(self):
        data = tr.data.from_generator(lambda: ({"id": i} for i in itertools.count()),
                                      examples=1000, endless=True)
        before = threading.active_count()
        for _ in range(5):
            stream = iter(data.batch(4, threads=3))
            next(stream)
            del stream
        self.assertEqual(threading.active_count(), before)


if __name__ == "__main__":
    unittest.main()
