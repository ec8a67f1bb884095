"""Metrics: of Values, in addition to the loss of a training, or of arrays, with compute(). Those of
texts and boxes take plain data."""

from trireme._core import (BleuScore, BoxAveragePrecision, BoxPrecision, RougeScore, RougeScores,
                           corpus_bleu, corpus_rouge)
from trireme._made import metrics as _made
from trireme._made.metrics import *  # noqa: F403

__all__ = ["BleuScore", "BoxAveragePrecision", "BoxPrecision", "RougeScore", "RougeScores",
           "corpus_bleu", "corpus_rouge"]
__all__ += _made.__all__
NAMES = list(_made.__all__)  # of functions that return a Metric
