"""Event files for TensorBoard, read by a reader of the wire format alone, and by the package
tensorboard where it is installed."""

import importlib.util
import struct
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy as np

import trireme as tr
from trireme.callbacks import EventWriter

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "e2e"))
from read_events import fields, records  # noqa: E402


def events(folder):
    """The events of all files of a folder, as lists of fields."""
    return [list(fields(event)) for path in sorted(Path(folder).glob("events.out.*"))
            for event in records(path.read_bytes())]


def values(folder):
    """The fields of each summary by (tag, step)."""
    found = {}
    for event in events(folder):
        step = dict(event)[2]
        for value in (v for number, summary in event if number == 5 for _, v in fields(summary)):
            parts = dict(fields(value))
            found[parts[1].decode(), step] = parts
    return found


def doubles(packed):
    return np.frombuffer(packed, "<f8")


def pixels(png):
    """The rows of a PNG without interlacing, [height, width, channels], by the filters of its
    specification."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            data += body
        at += size + 12
    channels = {0: 1, 2: 3}[color]
    assert depth == 8
    raw = np.frombuffer(zlib.decompress(data), "u1").reshape(height, 1 + width * channels)
    rows = np.zeros((height + 1, width + 1, channels), int)
    for y, (kind, *line) in enumerate(raw.astype(int).tolist(), 1):
        for x, pixel in enumerate(np.reshape(line, (width, channels)), 1):
            a, b, c = rows[y, x - 1], rows[y - 1, x], rows[y - 1, x - 1]
            near = np.abs([b - c, a - c, a + b - 2 * c])
            fourth = np.where((near[0] <= near[1]) & (near[0] <= near[2]), a,
                             np.where(near[1] <= near[2], b, c))
            rows[y, x] = (pixel + (0, a, b, (a + b) // 2, fourth)[kind]) % 256
    return rows[1:, 1:]


class Events(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_histograms_are_those_of_numpy(self):
        random = np.random.default_rng(1)
        cases = {"normal": random.normal(size=1000).astype("f4"), "wide": random.normal(size=9) * 1e300,
                 "few": np.float64([0, 1, 1, 3]), "integers": np.arange(10), "equal": np.ones(7),
                 "one": np.float64([-2.5]), "huge": np.float64([-1.7e308, 1.7e308])}
        writer = EventWriter(self.folder)
        for name, array in cases.items():
            writer.histogram(name, array, 3, bins=10)
        found = values(self.folder)
        for name, array in cases.items():
            parts = dict(fields(found[name, 3][5]))
            limits, counts = doubles(parts[6]), doubles(parts[7])
            low, high, count, total, squares = (struct.unpack("<d", parts[i])[0]
                                                for i in (1, 2, 3, 4, 5))
            self.assertEqual((low, high, count), (array.min(), array.max(), array.size), name)
            np.testing.assert_allclose(total, array.astype("f8").sum(), rtol=1e-12, atol=1e-9)
            if name not in ("wide", "huge"):
                np.testing.assert_allclose(squares, (array.astype("f8") ** 2).sum(), rtol=1e-12)
            if low == high:
                self.assertEqual((limits.tolist(), counts.tolist()), ([high], [count]))
            elif name == "huge":  # the width overflows in NumPy
                self.assertEqual(counts.tolist(), [1, *[0] * 8, 1])
            else:
                expected, edges = np.histogram(array.astype("f8"), 10)
                np.testing.assert_array_equal(counts, expected, name)
                np.testing.assert_allclose(limits, edges[1:], rtol=1e-12, atol=1e-15)

    def test_values_that_are_no_numbers_do_not_count(self):
        writer = EventWriter(self.folder)
        writer.histogram("mixed", np.float32([1, np.nan, 2, np.inf, -np.inf]), 1)
        writer.histogram("none", np.zeros(0, "f4"), 1)
        found = values(self.folder)
        mixed, none = (dict(fields(found[name, 1][5])) for name in ("mixed", "none"))
        self.assertEqual(doubles(mixed[7]).sum(), 2)
        self.assertEqual(doubles(none[7]).tolist(), [0])
        with self.assertRaisesRegex(tr.errors.UsageError, "1 bin or more"):
            writer.histogram("none", np.ones(3), 1, bins=0)

    def test_pictures(self):
        image = np.random.default_rng(2).integers(0, 256, (5, 7, 3)).astype("u1")
        writer = EventWriter(self.folder)
        writer.image("color", image, 1)
        writer.image("gray", image[:, :, :1], 2)
        writer.images("grid", np.full((3, 1, 4, 4), 0.5, "f4"), 2)
        found = values(self.folder)
        color, gray = (dict(fields(found[key][4])) for key in (("color", 1), ("gray", 2)))
        self.assertEqual([color[i] for i in (1, 2, 3)], [5, 7, 3])
        np.testing.assert_array_equal(pixels(color[4]), image)
        np.testing.assert_array_equal(pixels(gray[4]), image[:, :, :1])
        self.assertIn(("grid", 2), found)
        for wrong in (np.zeros((2, 2), "f4"), np.zeros((0, 1, 2, 2), "f4")):
            with self.assertRaises(tr.errors.UsageError):
                writer.images("grid", wrong, 2)

    def test_curves_are_those_of_numpy(self):
        random = np.random.default_rng(3)
        scores = np.append(random.random(500), [0, 1, 0.5, 0.5]).astype("f4")
        labels = (random.random(504) < scores).astype("f4")
        writer = EventWriter(self.folder)
        writer.pr_curve("curve", scores, labels, 4, thresholds=11)
        parts = values(self.folder)["curve", 4]
        plugin = dict(fields(dict(fields(parts[9]))[1]))
        self.assertEqual((plugin[1], dict(fields(plugin[2]))[2]), (b"pr_curves", 11))
        tensor = dict(fields(parts[8]))
        curve = np.frombuffer(tensor[4], "<f4").reshape(6, 11)
        for i, threshold in enumerate(np.arange(11) / 10):
            said = scores.astype("f8") >= threshold
            right, wrong = (said & (labels == 1)).sum(), (said & (labels == 0)).sum()
            expected = [right, wrong, (labels == 0).sum() - wrong, (labels == 1).sum() - right,
                        right / max(right + wrong, 1), right / (labels == 1).sum()]
            np.testing.assert_allclose(curve[:, i], expected, rtol=1e-6)
        with self.assertRaisesRegex(tr.errors.UsageError, "shapes must be equal"):
            writer.pr_curve("curve", scores, labels[1:], 4)
        with self.assertRaisesRegex(tr.errors.DataError, "label 0 is 2"):
            writer.pr_curve("curve", [0.5], [2.0], 4)
        with self.assertRaisesRegex(tr.errors.DataError, "score 1 is NaN"):
            writer.pr_curve("curve", [0.5, np.nan], [0.0, 1.0], 4)

    def model(self):
        x = tr.Input((4,), name="x")
        h = tr.nn.linear(x, 8, activation="tanh", name="hidden")
        model = tr.Model(x, tr.sigmoid(tr.nn.linear(h, 1, name="last")))
        model.compile(tr.optim.Sgd(0.5), lambda y, t: tr.losses.mse(y, t), seed=2)
        return model

    def test_the_graph_has_all_ops_and_edges(self):
        model = self.model()
        EventWriter(self.folder).graph(model.program)
        graph = next(value for event in events(self.folder) for number, value in event if number == 4)
        nodes = [list(fields(node)) for number, node in fields(graph) if number == 1]
        names = [dict(node)[1].decode() for node in nodes]
        self.assertEqual(len(set(names)), len(names))
        inputs = [value.decode() for node in nodes for number, value in node if number == 3]
        self.assertLessEqual({name.split(":")[0] for name in inputs}, set(names))
        for name in ("x", "hidden/weight", "hidden/matmul", "hidden/tanh", "last/bias", "sigmoid"):
            self.assertIn(name, names)
        ops = str(model.program).count(" = ")
        self.assertGreater(len(names), ops / 2)

    def test_follows_a_training(self):
        model = self.model()
        x = np.random.default_rng(4).normal(size=(40, 4)).astype("f4")
        y = (x[:, :1] > 0).astype("f4")
        test = tr.data.from_arrays({"x": x, "target": y}).batch(8)
        losses = []
        board = tr.callbacks.TensorBoard(
            self.folder, scalars_every=2, curves=[("curve", model.outputs[0], model.target, test)],
            images=[("hidden", tr.reshape(model.outputs[0], ("batch", 1, 1, 1)), None)])
        history = model.fit(x, y, batch_size=10, epochs=3, validation_data=(x, y), progress=False,
                            shuffle=False, callbacks=[board, tr.callbacks.LambdaCallback(
                                on_train_batch_end=lambda step, loss: losses.append(loss))])
        found = values(self.folder)

        def number(tag, step):
            return struct.unpack("<f", found[tag, step][2])[0]

        for step in range(2, 13, 2):
            self.assertEqual(number("train/loss", step), np.float32(losses[step - 1]))
            self.assertEqual(number("learning_rate", step), 0.5)
        self.assertNotIn(("train/loss", 3), found)
        for epoch in range(3):
            step = 4 * (epoch + 1)
            self.assertAlmostEqual(number("epoch/loss", step), history["loss"][epoch], 6)
            self.assertAlmostEqual(number("validation/loss", step), history["val_loss"][epoch], 6)
            self.assertIn(("hidden", step), found)
        weight = dict(fields(found["parameters/hidden.weight", 12][5]))
        final = model.get_weights()["hidden.weight"]
        np.testing.assert_array_equal(doubles(weight[7]),
                                      np.histogram(final.astype("f8"), 30)[0])
        scores = model.predict(x)
        curve = np.frombuffer(dict(fields(found["curve", 12][8]))[4], "<f4").reshape(6, 127)
        self.assertEqual(curve[0, 63], ((scores >= 0.5) & (y == 1)).sum())
        # A second fit continues the steps, and tells readers so.
        model.fit(x, y, batch_size=10, progress=False, callbacks=[board], validation_data=(x, y))
        self.assertIn(("epoch/loss", 16), values(self.folder))
        self.assertEqual([dict(event)[2] for event in events(self.folder) if 7 in dict(event)],
                         [13])

    def test_mistakes(self):
        model = self.model()
        with self.assertRaisesRegex(tr.errors.UsageError, "an entry is"):
            tr.callbacks.TensorBoard(self.folder, curves=[("curve", model.outputs[0])])
        board = tr.callbacks.TensorBoard(
            self.folder, curves=[("curve", model.outputs[0], model.target, None)])
        x, y = np.zeros((4, 4), "f4"), np.zeros((4, 1), "f4")
        with self.assertRaisesRegex(tr.errors.UsageError, '"curve" has no batches'):
            model.fit(x, y, progress=False, callbacks=[board])
        with self.assertRaisesRegex(tr.errors.UsageError, "cannot follow an iterable"):
            model.fit(iter([(x, y)]), progress=False, callbacks=[board])

    @unittest.skipUnless(importlib.util.find_spec("tensorboard"), "tensorboard is not installed")
    def test_tensorboard_reads_them(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        writer = EventWriter(self.folder)
        values_of = np.random.default_rng(5).normal(size=100)
        writer.histogram("h", values_of, 1)
        writer.image("i", np.zeros((2, 3, 1), "u1"), 2)
        writer.scalar("s", 0.25, 3)
        writer.pr_curve("p", [0.2, 0.8], [0, 1], 4, thresholds=5)
        writer.graph(self.model().program)
        read = EventAccumulator(self.folder)
        read.Reload()
        tags = read.Tags()
        self.assertEqual((tags["histograms"], tags["images"], tags["scalars"], tags["tensors"],
                          tags["graph"]), (["h"], ["i"], ["s"], ["p"], True))
        histogram = read.Histograms("h")[0].histogram_value
        self.assertEqual(list(histogram.bucket), np.histogram(values_of, 30)[0].tolist())
        image = read.Images("i")[0]
        self.assertEqual((image.step, image.width, image.height), (2, 3, 2))
        self.assertIn("hidden/matmul", [node.name for node in read.Graph().node])
        from tensorboard.util import tensor_util

        curve = tensor_util.make_ndarray(read.Tensors("p")[0].tensor_proto)
        self.assertEqual(curve[4].tolist(), [0.5, 1, 1, 1, 0])


if __name__ == "__main__":
    unittest.main()
