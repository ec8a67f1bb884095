"""Metrics of arrays, texts and boxes, against formulas in NumPy."""

import itertools
import math
import unittest

import numpy as np

import trireme as tr


def points(scores, labels):
    """(threshold, true positives, false positives) by rising threshold."""
    return [(t, ((scores >= t) & (labels == 1)).sum(), ((scores >= t) & (labels == 0)).sum())
            for t in np.unique(scores)]


class Curves(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.scores = random.integers(-6, 7, 200).astype("f4") / 4  # many ties
        self.labels = (self.scores + random.normal(size=200) > 0.5).astype("f4")

    def test_roc_curve(self):
        curve = tr.metrics.roc_curve(self.scores, self.labels, drop_intermediate=False).compute()
        p, n = self.labels.sum(), (1 - self.labels).sum()
        expected = [(0, 0, math.inf)]
        expected += [(fp / n, tp / p, t) for t, tp, fp in points(self.scores, self.labels)[::-1]]
        np.testing.assert_allclose(curve, expected, rtol=1e-12)
        area = np.trapezoid(curve[:, 1], curve[:, 0])
        self.assertAlmostEqual(tr.metrics.auc(self.scores, self.labels).compute(), area, 12)

    def test_points_on_a_line_are_dropped(self):
        scores, labels = np.arange(9, dtype="f4"), np.array([0, 0, 0, 0, 1, 0, 1, 1, 1], "f4")
        curve = tr.metrics.roc_curve(scores, labels).compute()
        # Scores 7, 3, 2 and 1 are in the middle of equal steps; scikit-learn drops the same.
        self.assertEqual(curve[:, 2].tolist(), [math.inf, 8, 6, 5, 4, 0])

    def test_pr_curve_and_average_precision(self):
        curve = tr.metrics.pr_curve(self.scores, self.labels).compute()
        p = self.labels.sum()
        expected = [(tp / (tp + fp), tp / p, t) for t, tp, fp in points(self.scores, self.labels)]
        np.testing.assert_allclose(curve, [*expected, (1, 0, math.inf)], rtol=1e-12)
        area = -(np.diff(curve[:, 1]) * curve[:-1, 0]).sum()
        measured = tr.metrics.average_precision(self.scores, self.labels).compute()
        self.assertAlmostEqual(measured, area, 12)

    def test_one_class_alone(self):
        ones = np.ones(3, "f4")
        roc = tr.metrics.roc_curve(np.arange(3, dtype="f4"), ones).compute()
        self.assertTrue(np.isnan(roc[:, 0]).all())
        self.assertEqual(roc[-1, 1], 1)
        pr = tr.metrics.pr_curve(np.arange(3, dtype="f4"), 0 * ones).compute()
        self.assertTrue(np.isnan(pr[:, 1]).all())
        self.assertTrue(math.isnan(tr.metrics.average_precision(ones, 0 * ones).compute()))

    def test_wrong_scores_and_labels(self):
        nan, ones = np.array([math.nan, 1], "f4"), np.ones(2, "f4")
        for metric in (tr.metrics.roc_curve, tr.metrics.pr_curve, tr.metrics.average_precision):
            with self.assertRaisesRegex(tr.errors.DataError, "NaN"):
                metric(nan, ones).compute()
            with self.assertRaisesRegex(tr.errors.DataError, "neither 0 nor 1"):
                metric(ones, 2 * ones).compute()
            self.assertEqual(np.size(metric(ones[:0], ones[:0]).compute()) > 1, False)

    def test_a_metric_of_a_program_has_no_number_yet(self):
        program = tr.Program()
        x, y = program.input("x", tr.f32, ("batch",)), program.input("y", tr.f32, ("batch",))
        with self.assertRaisesRegex(tr.errors.UsageError, "metrics of Arrays"):
            tr.metrics.auc(x, y).compute()

    def test_a_trainer_returns_a_curve(self):
        program = tr.Program()
        x, y = program.input("x", tr.f32, ("batch", 1)), program.input("y", tr.f32, ("batch", 1))
        score = tr.nn.linear(x, 1)
        loss = tr.mean(tr.losses.binary_cross_entropy_with_logits(score, y))
        trainer = tr.Trainer(loss, tr.optim.Sgd(0.1), [tr.metrics.pr_curve(score, y)])
        data = tr.data.from_arrays({"x": self.scores[:, None], "y": self.labels[:, None]})
        curve = trainer.evaluate(data.batch(64))["pr_curve"]
        self.assertEqual(curve.shape, (14, 3))


class Classes(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(2)
        self.logits = random.normal(size=(3, 40, 5)).astype("f4")  # [images, pixels, classes]
        self.labels = random.integers(0, 4, (3, 40))  # never 4
        self.logits[..., 3] -= 9  # never predicted
        self.predicted = self.logits.argmax(-1)

    def test_intersection_over_union(self):
        expected = []
        for c in range(5):
            a, b = self.labels == c, self.predicted == c
            expected.append((a & b).sum() / (a | b).sum())
        of_classes = tr.metrics.class_iou(self.logits, self.labels).compute()
        np.testing.assert_allclose(of_classes, expected, rtol=1e-6)
        macro = tr.metrics.iou(self.logits, self.labels)
        self.assertAlmostEqual(macro.compute(), np.mean(expected), 6)
        self.assertEqual(tr.metrics.iou(self.logits, self.labels, of_class=2).name, "iou_2")
        without = tr.metrics.class_iou(self.logits[..., :4] * [[[1, 1, 1, 0]]] - [0, 0, 0, 99.0],
                                       np.where(self.labels == 3, 0, self.labels)).compute()
        self.assertTrue(math.isnan(without[3]))

    def confusion(self):
        counts = np.zeros((5, 5))
        np.add.at(counts, (self.labels.ravel(), self.predicted.ravel()), 1)
        return counts

    def test_cohen_kappa(self):
        counts = self.confusion()
        chance = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        i, j = np.indices((5, 5))
        for weights, errors in (("none", i != j), ("linear", abs(i - j)),
                                ("quadratic", (i - j) ** 2)):
            expected = 1 - (errors * counts).sum() / (errors * chance).sum()
            got = tr.metrics.cohen_kappa(self.logits, self.labels, weights=weights).compute()
            self.assertAlmostEqual(got, expected, 6)

    def test_matthews_correlation(self):
        one_hot = np.eye(5)
        x, y = one_hot[self.predicted.ravel()], one_hot[self.labels.ravel()]
        covariance = lambda a, b: ((a - a.mean(0)) * (b - b.mean(0))).sum()  # noqa: E731
        expected = covariance(x, y) / math.sqrt(covariance(x, x) * covariance(y, y))
        got = tr.metrics.matthews_correlation(self.logits, self.labels).compute()
        self.assertAlmostEqual(got, expected, 6)

    def test_ignored_labels(self):
        labels = self.labels.copy()
        labels[0] = -1
        for metric in (tr.metrics.iou, tr.metrics.cohen_kappa, tr.metrics.matthews_correlation,
                       tr.metrics.calibration_error):
            kept = metric(self.logits[1:], self.labels[1:]).compute()
            self.assertAlmostEqual(metric(self.logits, labels, ignore_index=-1).compute(), kept, 6)

    def test_calibration_error(self):
        p = np.exp(self.logits.astype("f8")).reshape(-1, 5)
        p /= p.sum(1, keepdims=True)
        bins = np.ceil(p.max(1) * 10).astype(int)
        right = (self.predicted == self.labels).ravel()
        expected = sum(abs((p.max(1) - right)[bins == b].sum()) for b in range(1, 11)) / right.size
        got = tr.metrics.calibration_error(self.logits, self.labels, bins=10)
        self.assertAlmostEqual(got.compute(), expected, 6)


class Images(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(3)
        self.x = random.random((2, 3, 14, 17)).astype("f4")
        self.y = np.clip(self.x + 0.1 * random.normal(size=self.x.shape), 0, 1).astype("f4")

    def test_psnr(self):
        errors = ((self.x.astype("f8") - self.y) ** 2).mean((1, 2, 3))
        expected = (10 * np.log10(1 / errors)).mean()
        self.assertAlmostEqual(tr.metrics.psnr(self.x, self.y).compute(), expected, 9)
        bytes_ = tr.metrics.psnr(self.x * 255, self.y * 255, range=255).compute()
        self.assertAlmostEqual(bytes_, expected, 4)
        self.assertEqual(tr.metrics.psnr(self.x, self.x).compute(), math.inf)

    def test_ssim(self):
        """Each window alone, as in the paper."""
        offsets = np.arange(11) - 5
        weights = np.exp(-(offsets ** 2) / (2 * 1.5 ** 2))
        weights = np.outer(weights, weights) / weights.sum() ** 2
        values = []
        c1, c2 = 0.01 ** 2, 0.03 ** 2
        for x, y in zip(self.x.reshape(6, 14, 17).astype("f8"), self.y.reshape(6, 14, 17)):
            for i, j in itertools.product(range(4), range(7)):
                a, b = x[i:i + 11, j:j + 11], y[i:i + 11, j:j + 11]
                mx, my = (weights * a).sum(), (weights * b).sum()
                vx, vy = (weights * (a - mx) ** 2).sum(), (weights * (b - my) ** 2).sum()
                covariance = (weights * (a - mx) * (b - my)).sum()
                values.append((2 * mx * my + c1) * (2 * covariance + c2)
                              / ((mx * mx + my * my + c1) * (vx + vy + c2)))
        self.assertAlmostEqual(tr.metrics.ssim(self.x, self.y).compute(), np.mean(values), 9)
        self.assertEqual(tr.metrics.ssim(self.x, self.x).compute(), 1)

    def test_images_that_do_not_fit(self):
        with self.assertRaisesRegex(tr.errors.UsageError, "at least the window"):
            tr.metrics.ssim(self.x[..., :10], self.y[..., :10])
        with self.assertRaisesRegex(tr.errors.UsageError, "odd number"):
            tr.metrics.ssim(self.x, self.y, window=4)
        with self.assertRaisesRegex(tr.errors.UsageError, "range is 0"):
            tr.metrics.psnr(self.x, self.y, range=0)


def longest_common(a, b):
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return 1 + longest_common(a[:-1], b[:-1])
    return max(longest_common(a[:-1], b), longest_common(a, b[:-1]))


class Texts(unittest.TestCase):
    def test_rouge(self):
        pairs = [("The cat sat.", "the cat is on the mat"), ("a-b a b", "b a; a b"), ("", "x"),
                 ("x", ""), ("one", "one"), ("Été à 9", "ete a 9")]

        def words(text):
            return "".join(c if c in "abcdefghijklmnopqrstuvwxyz0123456789" else " "
                           for c in text.lower()).split()

        def counted(a, b, n):
            runs = [[tuple(w[i:i + n]) for i in range(len(w) - n + 1)] for w in (a, b)]
            return sum(min(runs[0].count(r), runs[1].count(r)) for r in set(runs[0])), *map(
                len, runs)

        def score(common, hypothesis, reference):
            if common == 0:
                return 0, 0, 0
            p, r = common / hypothesis, common / reference
            return p, r, 2 * p * r / (p + r)

        sides = [(words(a), words(b)) for a, b in pairs]
        expected = {
            "rouge_1": np.mean([score(*counted(a, b, 1)) for a, b in sides], 0),
            "rouge_2": np.mean([score(*counted(a, b, 2)) for a, b in sides], 0),
            "rouge_l": np.mean([score(longest_common(a, b), len(a), len(b)) for a, b in sides], 0)}
        scores = tr.metrics.corpus_rouge([a for a, _ in pairs], [b for _, b in pairs])
        for name, numbers in expected.items():
            got = getattr(scores, name)
            np.testing.assert_allclose((got.precision, got.recall, got.f1), numbers, rtol=1e-12)

    def test_the_best_of_several_references(self):
        scores = tr.metrics.corpus_rouge(["a b c"], [["x", "c b a", "a b"]], tokenizer="none")
        self.assertEqual(scores.rouge_1.f1, 1)
        self.assertAlmostEqual(scores.rouge_l.f1, 0.8)
        self.assertAlmostEqual(tr.metrics.corpus_bleu(["a b c d"], ["a b c d"]).score, 100)

    def test_texts_that_do_not_fit(self):
        with self.assertRaisesRegex(tr.errors.UsageError, "no texts"):
            tr.metrics.corpus_rouge([], [])
        with self.assertRaisesRegex(tr.errors.UsageError, "1 hypotheses, but references for 2"):
            tr.metrics.corpus_rouge(["a"], ["a", "b"])
        with self.assertRaisesRegex(tr.errors.UsageError, "tokenizer must be"):
            tr.metrics.corpus_rouge(["a"], ["a"], tokenizer="words")


def coco_precision(images, threshold, of_class):
    """The average precision of one class: COCO's definition, written out."""
    found, boxes = [], 0
    for boxes_of, scores, classes, true_boxes, true_classes in images:
        truth = [tuple(b) for b, c in zip(true_boxes, true_classes) if c == of_class]
        boxes += len(truth)
        free = list(range(len(truth)))
        mine = [i for i in range(len(scores)) if classes[i] == of_class]
        for i in sorted(mine, key=lambda i: -scores[i])[:100]:
            def share(k, box=boxes_of[i]):
                w = min(box[2], truth[k][2]) - max(box[0], truth[k][0])
                h = min(box[3], truth[k][3]) - max(box[1], truth[k][1])
                common = max(w, 0) * max(h, 0)
                areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, truth[k])]
                return common / (sum(areas) - common)
            best = max(free, key=lambda k: (share(k), k), default=None)
            hit = best is not None and share(best) >= threshold
            if hit:
                free.remove(best)
            found.append((-scores[i], hit))
    if boxes == 0:
        return math.nan, math.nan
    hits = np.cumsum([hit for _, hit in sorted(found, key=lambda f: f[0])])
    precisions = [hits[np.searchsorted(hits, np.ceil(r * boxes - 1e-9)):]
                  / np.arange(1, len(hits) + 1)[np.searchsorted(hits, np.ceil(r * boxes - 1e-9)):]
                  for r in np.linspace(0, 1, 101)]
    return (np.mean([p.max() if len(p) else 0 for p in precisions]),
            hits[-1] / boxes if len(hits) else 0)


class Boxes(unittest.TestCase):
    def images(self):
        random = np.random.default_rng(4)
        for _ in range(30):
            corner = random.uniform(0, 80, (random.integers(0, 7), 2))
            truth = np.hstack([corner, corner + random.uniform(5, 20, corner.shape)])
            classes = random.integers(0, 3, len(truth))
            moved = np.repeat(truth, 3, 0) + random.normal(size=(3 * len(truth), 4))
            moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 0.1)
            guessed = np.where(random.random(len(moved)) < 0.8, np.repeat(classes, 3), 3)
            yield moved, random.integers(0, 50, len(moved)) / 50, guessed, truth, classes

    def test_against_the_definition(self):
        images = list(self.images())
        metric = tr.metrics.BoxAveragePrecision()
        for image in images:
            metric.update(*image)
        score = metric.score()
        expected = np.array([[coco_precision(images, t, c) for c in range(3)]
                             for t in np.arange(0.5, 0.99, 0.05)])
        self.assertAlmostEqual(score.mean, expected[..., 0].mean(), 9)
        self.assertAlmostEqual(score.recall, expected[..., 1].mean(), 9)
        self.assertAlmostEqual(score.at_50, expected[0, :, 0].mean(), 9)
        self.assertAlmostEqual(score.at_75, expected[5, :, 0].mean(), 9)
        self.assertEqual(list(score.of_class), [0, 1, 2])  # class 3 has no true boxes
        np.testing.assert_allclose(list(score.of_class.values()), expected[..., 0].mean(0))

    def test_edges(self):
        none, no_class = np.zeros((0, 4), "f4"), np.zeros(0, "i8")
        box, zero = np.array([[0, 0, 2, 2]], "f4"), np.zeros(1, "i8")
        metric = tr.metrics.BoxAveragePrecision()
        self.assertTrue(math.isnan(metric.score().mean))
        metric.update(none, np.zeros(0, "f4"), no_class, none, no_class)
        self.assertTrue(math.isnan(metric.score().mean))
        metric.update(none, np.zeros(0, "f4"), no_class, box, zero)
        self.assertEqual(metric.score().mean, 0)
        metric.update(box, np.ones(1, "f4"), zero, box, zero)
        self.assertAlmostEqual(metric.score().mean, 51 / 101)
        metric.update(box, np.ones(1, "f4"), zero - 1, box, zero - 1)  # padding
        self.assertEqual(metric.images, 4)
        self.assertAlmostEqual(metric.score().mean, 51 / 101)
        metric.reset()
        self.assertEqual(metric.images, 0)
        with self.assertRaisesRegex(tr.errors.DataError, "has a NaN"):
            metric.update(box * np.nan, np.ones(1, "f4"), zero, box, zero)
        with self.assertRaisesRegex(tr.errors.DataError, "maximum below its minimum"):
            metric.update(box, np.ones(1, "f4"), zero, -box, zero)
        with self.assertRaisesRegex(tr.errors.UsageError, "one for each box"):
            metric.update(box, np.ones(2, "f4"), zero, box, zero)
        with self.assertRaisesRegex(tr.errors.UsageError, "threshold 1.5"):
            tr.metrics.BoxAveragePrecision(thresholds=[1.5])


if __name__ == "__main__":
    unittest.main()
