#!/usr/bin/env python3
"""What scikit-learn says of predictions.

usage: oracle.py KIND PREDICTIONS

PREDICTIONS has an example a line: of KIND `binary` the score and the label, of `classes` the logits
and the label, of `rankings` the scores and then the relevances, of `numbers` the prediction and the
target. Prints a line for each metric: its name and its value. `binary` takes 0.25 as threshold.
"""

import sys
import warnings

import numpy as np
from sklearn import metrics


def binary(rows):
    score, label = rows[:, 0], rows[:, 1].astype(int)
    predicted = score > 0.25
    probability = 1 / (1 + np.exp(-score))
    yield "auc", metrics.roc_auc_score(label, score)
    yield "accuracy", metrics.accuracy_score(label, predicted)
    yield "precision", metrics.precision_score(label, predicted, zero_division=0)
    yield "recall", metrics.recall_score(label, predicted, zero_division=0)
    yield "f1", metrics.f1_score(label, predicted, zero_division=0)
    yield "log_loss", metrics.log_loss(label, probability)


def classes(rows):
    logits, label = rows[:, :-1], rows[:, -1].astype(int)
    predicted = logits.argmax(1)
    every = list(range(logits.shape[1]))
    probability = np.exp(logits - logits.max(1, keepdims=True))
    probability /= probability.sum(1, keepdims=True)
    yield "accuracy", metrics.accuracy_score(label, predicted)
    yield "log_loss", metrics.log_loss(label, probability, labels=every)
    yield "top_2_accuracy", metrics.top_k_accuracy_score(label, logits, k=2, labels=every)
    rates = {"precision": metrics.precision_score, "recall": metrics.recall_score,
             "f1": metrics.f1_score}
    for name, rate in rates.items():
        yield name, rate(label, predicted, average="macro", zero_division=0)
        yield name + "_micro", rate(label, predicted, average="micro", zero_division=0)
        yield name + "_weighted", rate(label, predicted, average="weighted", zero_division=0)
        alone = rate(label, predicted, average=None, labels=every, zero_division=0)
        for i, value in enumerate(alone):
            yield f"{name}_{i}", value


def rankings(rows):
    items = rows.shape[1] // 2
    scores, relevant = rows[:, :items], rows[:, items:].astype(int)
    some = relevant.any(1)
    yield "mean_average_precision", metrics.label_ranking_average_precision_score(
        relevant[some], scores[some])
    alone = [metrics.average_precision_score(r, s) for r, s in zip(relevant[some], scores[some])]
    yield "mean of average_precision_score", np.mean(alone)


def groups(rows):
    """Of columns group, score and relevance."""
    by_group = {g: rows[rows[:, 0] == g] for g in np.unique(rows[:, 0])}
    some = [r for r in by_group.values() if (r[:, 2] > 0).any()]
    for k in (None, 3):
        yield "ndcg" if k is None else f"ndcg_{k}", np.mean([
            metrics.ndcg_score([2 ** r[:, 2] - 1], [r[:, 1]], k=k) if len(r) > 1 else 1.0
            for r in some])
    yield "map", np.mean([metrics.average_precision_score(r[:, 2] > 0, r[:, 1]) for r in some])


def numbers(rows):
    predicted, target = rows[:, 0], rows[:, 1]
    yield "rmse", metrics.mean_squared_error(target, predicted) ** 0.5
    yield "mae", metrics.mean_absolute_error(target, predicted)
    yield "r2", metrics.r2_score(target, predicted)


def main():
    warnings.simplefilter("ignore")
    rows = np.loadtxt(sys.argv[2], ndmin=2)
    kinds = {"binary": binary, "classes": classes, "rankings": rankings, "groups": groups,
             "numbers": numbers}
    for name, value in kinds[sys.argv[1]](rows):
        print(f"{name}\t{value:.17g}")


if __name__ == "__main__":
    main()
