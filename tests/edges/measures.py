"""Metrics by scikit-learn, or by their definitions where it has none or refuses the data.

Each row of the operands is a data set. scikit-learn takes no infinite scores, so it gets their
ranks, and equal scores have one rank.
"""

import itertools
import warnings

import numpy
import scipy.special
import torch
from sklearn import metrics

REFUSED = -1.0  # instead of a number: Trireme reports wrong data
NOTHING = -2.0  # after the last number of a tensor
NAN = float("nan")


def each(function):
    """Applies a function of one data set, in NumPy arrays, to every row."""
    def of_rows(*operands, **options):
        rows = zip(*(x.numpy() for x in operands))
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = numpy.array([function(*row, **options) for row in rows], dtype=float)
            return torch.from_numpy(results)
    return of_rows


def ranks(scores):
    return numpy.unique(scores, return_inverse=True)[1]


def wrong(scores, labels):
    return numpy.isnan(scores).any() or not numpy.isin(labels, (0, 1)).all()


@each
def auc(scores, labels):
    if wrong(scores, labels):
        return REFUSED
    if labels.size == 0 or labels.min() == labels.max():
        return NAN
    return metrics.roc_auc_score(labels.astype(int), ranks(scores))


@each
def share_of_ties(bins, labels):
    """Half the share of pairs of a positive and a negative example with equal scores."""
    if wrong(bins, labels):
        return REFUSED
    positive, negative = bins[labels == 1], bins[labels == 0]
    pairs = len(positive) * len(negative)
    return (positive[:, None] == negative).sum() / pairs / 2 if pairs else NAN


def binary_rate(name, scores, labels):
    rate = getattr(metrics, name + "_score")

    @each
    def of_row(s, y):
        if wrong(s, y):
            return REFUSED
        if y.size == 0:
            return NAN
        return rate((y == 1).astype(int), (s > 0).astype(int), zero_division=0)
    return of_row(scores, labels)


def binary_agreement(name, scores, labels):
    measure = getattr(metrics, name)

    @each
    def of_row(s, y):
        if wrong(s, y):
            return REFUSED
        return measure((y == 1).astype(int), (s > 0).astype(int)) if y.size else NAN
    return of_row(scores, labels)


def class_agreement(name, logits, labels, **options):
    measure = getattr(metrics, name)

    @each
    def of_row(row, right):
        if right.size == 0:
            return NAN
        # Rounded, since scikit-learn has 2e-16 for 0.
        return round(measure(right, row.reshape(-1, 3).argmax(1), **options), 12)
    return of_row(logits, labels)


@each
def average_precision(scores, labels):
    if wrong(scores, labels):
        return REFUSED
    if not labels.any():
        return NAN
    return metrics.average_precision_score(labels.astype(int), ranks(scores))


def curve(scores, labels, x, y, thresholds, infinite_first):
    """Points of a curve, one after the other, padded to 5 points. The thresholds of scikit-learn
    are ranks, and it has another number for the infinite one, or none."""
    places = (thresholds[1:] if infinite_first else thresholds).astype(int)
    finite = numpy.unique(scores).astype(float)[places]
    all_of = numpy.r_[numpy.inf, finite] if infinite_first else numpy.r_[finite, numpy.inf]
    points = numpy.stack([x, y, all_of], 1).ravel()
    return numpy.pad(points, (0, 15 - len(points)), constant_values=NOTHING)


@each
def roc_curve(scores, labels, drop_intermediate):
    if wrong(scores, labels):
        return [REFUSED] * 15
    if labels.size == 0:
        return [NOTHING] * 15
    false, true, thresholds = metrics.roc_curve(labels.astype(int), ranks(scores), pos_label=1,
                                                drop_intermediate=drop_intermediate)
    return curve(scores, labels, false, true, thresholds, True)


@each
def pr_curve(scores, labels):
    if wrong(scores, labels):
        return [REFUSED] * 15
    if labels.size == 0:
        return [NOTHING] * 15
    precision, recall, thresholds = metrics.precision_recall_curve(labels.astype(int),
                                                                   ranks(scores), pos_label=1)
    if not labels.any():
        recall = recall + NAN
    return curve(scores, labels, precision, recall, thresholds, False)


def images(rows, size):
    return rows.astype(float).reshape(-1, size, size)


@each
def psnr(predicted, target):
    """Of a range of 2."""
    errors = [((a - b)**2).mean() for a, b in zip(images(predicted, 2), images(target, 2))]
    return numpy.mean(10 * numpy.log10(4 / numpy.array(errors))) if errors else NAN


@each
def ssim(predicted, target):
    """Wang, Bovik, Sheikh and Simoncelli 2004, section III.B, by its formula of each window."""
    line = numpy.exp(-numpy.arange(-1, 2)**2 / (2 * 1.5**2))
    weights = numpy.outer(line, line) / line.sum()**2
    values = []
    for a, b in zip(images(predicted, 4), images(target, 4)):
        for i, j in itertools.product(range(2), repeat=2):
            p, q = a[i:i + 3, j:j + 3], b[i:i + 3, j:j + 3]
            m, n = (weights * p).sum(), (weights * q).sum()
            v, w = (weights * (p - m)**2).sum(), (weights * (q - n)**2).sum()
            both = (weights * (p - m) * (q - n)).sum()
            values.append((2 * m * n + 1e-4) * (2 * both + 9e-4)
                          / ((m**2 + n**2 + 1e-4) * (v + w + 9e-4)))
    return numpy.mean(values) if values else NAN


@each
def class_iou(logits, labels):
    if labels.size == 0:
        return [NOTHING] * 3
    predicted = logits.reshape(-1, 3).argmax(1)
    both = [((predicted == c) & (labels == c)).sum() for c in range(3)]
    either = [((predicted == c) | (labels == c)).sum() for c in range(3)]
    return [b / e if e else NAN for b, e in zip(both, either)]


@each
def confusion_matrix(logits, labels):
    if labels.size == 0:
        return [NOTHING] * 9
    predicted = logits.reshape(-1, 3).argmax(1)
    return metrics.confusion_matrix(labels, predicted, labels=[0, 1, 2]).ravel().astype(float)


def binned(probability, came_true, bins, norm="mean"):
    """The differences of the means of (low, high], one bin after the other."""
    shares, gaps = [], []
    for b in range(bins):
        inside = (probability > b / bins) & (probability <= (b + 1) / bins)
        if b == 0:
            inside |= probability == 0
        if inside.any():
            shares.append(inside.mean())
            gaps.append(abs(probability[inside].mean() - came_true[inside].mean()))
    if not gaps:
        return NAN
    if norm == "max":
        return max(gaps)
    return numpy.dot(shares, gaps) if norm == "mean" else numpy.dot(shares, numpy.square(gaps)) ** .5


@each
def calibration(logits, labels):
    rows = logits.reshape(-1, 3)
    confidence = scipy.special.softmax(rows.astype(float), 1).max(1)
    if numpy.isnan(confidence).any():
        return REFUSED
    return binned(confidence, rows.argmax(1) == labels, 7)


@each
def binary_calibration(scores, labels, norm="mean"):
    if wrong(scores, labels):
        return REFUSED
    return binned(scipy.special.expit(scores.astype(float)), labels, 4, norm)


@each
def error_quantile(predicted, target, quantile):
    errors = numpy.sort(abs(predicted - target).astype(float))
    if errors.size == 0 or numpy.isnan(errors).any():
        return NAN
    place = quantile * (errors.size - 1)
    low, high = errors[int(numpy.floor(place))], errors[int(numpy.ceil(place))]
    return low if low == high or place % 1 == 0 else low + (place % 1) * (high - low)


@each
def pinball(predicted, target, quantile):
    error = (predicted - target).astype(float)
    if error.size == 0 or numpy.isnan(error).any():
        return NAN
    parts = [(1 - quantile) * e if e > 0 and quantile < 1 else -quantile * e if e < 0 < quantile
             else 0 for e in error]
    return numpy.mean(parts)


def class_rate(name, logits, labels, of_class=None, **options):
    """Of three logits for each label. The largest, or the first NaN, is the prediction."""
    rate = getattr(metrics, name + "_score")

    @each
    def of_row(row, right):
        if right.size == 0:
            return NAN
        predicted = row.reshape(-1, 3).argmax(1)
        if name == "accuracy":
            return rate(right, predicted)
        if of_class is None:
            return rate(right, predicted, zero_division=0, **options)
        return rate(right, predicted, zero_division=0, average=None, labels=[0, 1, 2])[of_class]
    return of_row(logits, labels)


def top_k_accuracy(logits, labels, k):
    """NaN comes first, then larger logits, then lower classes. A label with NaN never counts."""
    def counts(row, label):
        order = sorted(range(3), key=lambda c: (not numpy.isnan(row[c]), -row[c], c))
        return not numpy.isnan(row[label]) and label in order[:k]

    @each
    def of_row(row, right):
        return numpy.mean([counts(*pair) for pair in zip(row.reshape(-1, 3), right)])
    return of_row(logits, labels)


@each
def r2(predicted, target):
    if target.size < 2:
        return NAN
    errors = ((predicted - target) ** 2).sum()
    spread = ((target - target.mean()) ** 2).sum()
    if spread == 0 and not numpy.isnan(errors):
        return float(errors == 0)
    return 1 - errors / spread if spread else NAN


@each
def perplexity(losses, weights):
    """Tokens with weight 0 may have any loss."""
    total = weights.sum()
    return numpy.exp(numpy.where(weights == 0, 0, losses * weights).sum() / total) if total else NAN


@each
def mean_average_precision(scores, relevant):
    if wrong(scores, relevant):
        return REFUSED
    if not relevant.any():
        return NAN
    return metrics.label_ranking_average_precision_score([relevant.astype(int)], [ranks(scores)])


def _over_groups(of_group, scores, relevance, group):
    """The mean over the groups with a relevant example."""
    if numpy.isnan(scores).any() or not (relevance >= 0).all() or numpy.isinf(relevance).any():
        return REFUSED
    members = [group == g for g in numpy.unique(group)]
    values = [of_group(scores[m], relevance[m]) for m in members if (relevance[m] > 0).any()]
    return numpy.mean(values) if values else NAN


@each
def ndcg(scores, relevance, group, k=None):
    def of_group(s, r):
        # 2^r - 1; a common factor has no effect.
        gains = numpy.expm1(r * numpy.log(2)) if r.max() < 64 else 2 ** (r - r.max())
        return metrics.ndcg_score([gains], [ranks(s)], k=k)
    return _over_groups(of_group, scores, relevance, group)


@each
def grouped_average_precision(scores, relevance, group):
    return _over_groups(
        lambda s, r: metrics.average_precision_score((r > 0).astype(int), ranks(s)),
        scores, relevance, group)


@each
def hit_rate(scores, relevance, group, k):
    def of_group(s, r):
        best = s[r > 0].max()
        return float(((s > best) | ((s == best) & (r == 0))).sum() < k)
    return _over_groups(of_group, scores, relevance, group)


@each
def reciprocal_rank(scores, relevance, group, k=None):
    def of_group(s, r):
        best = s[r > 0].max()
        place = 1 + ((s > best) | ((s == best) & (r == 0))).sum()
        return 1 / place if k is None or place <= k else 0.0
    return _over_groups(of_group, scores, relevance, group)
