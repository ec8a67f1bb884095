"""One hash function against several in tables of the same size: clicks of Frappe by AUC, and
n-grams of sentences by accuracy. Prints the means over some seeds.

    hashed_tables.py DATA SEEDS"""

import sys
import zlib

import numpy as np

import trireme as tr
from sentence_polarity import labeled_sentences


def clicks_model(hashes, seed):
    """512 x 8 numbers for 5,382 ids, as one row of 8 or as 4 rows of 2."""
    ids = tr.Input((10,), dtype=tr.i64, name="ids")
    rows = tr.nn.hashed_embedding(ids, 512 * hashes, 8, hashes=hashes, combine="concat",
                                  seed=seed)
    x = tr.nn.linear(tr.nn.flatten(rows), 64, activation="relu")
    return tr.Model(ids, tr.nn.linear(x, 1))


def clicks(hashes, seed):
    model = clicks_model(hashes, seed)
    model.compile(tr.optim.Adam(lr=2e-3), "binary_cross_entropy",
                  metrics=[lambda score, target: tr.metrics.auc(score, target)], seed=seed)
    model.fit(tr.datasets.frappe("train"), batch_size=256, epochs=3)
    return model.evaluate(tr.datasets.frappe("test"))["auc"]


def sentences(folder):
    """Ids of words are checksums, so there is no vocabulary. Every fifth sentence is a test."""
    texts = labeled_sentences(folder)
    ids = [[zlib.crc32(word.encode()) for word in words] for words, _ in texts]
    labels = np.array([[label] for _, label in texts], "f4")
    test = np.arange(len(texts)) % 5 == 0
    return ids, labels, test


def pyramid(hashes, seed, data):
    """512 x 32 numbers for all n-grams of 1 to 3 words."""
    ids, labels, test = data
    words = tr.Input((), dtype=tr.i64, name="words", levels=1)
    x = tr.nn.hashed_ngrams(words, 512 * hashes, 32, max_length=3, hashes=hashes,
                            combine="concat", seed=seed)
    x = tr.nn.dropout(x, rate=0.3)
    model = tr.Model(words, tr.nn.linear(x, 1))
    model.compile(tr.optim.Adam(lr=3e-3), "binary_cross_entropy", seed=seed)
    part = [x for x, is_test in zip(ids, test) if not is_test]
    model.fit(part, labels[~test], batch_size=64, epochs=8)
    scores = np.asarray(model.predict([x for x, is_test in zip(ids, test) if is_test]))
    return float(((scores > 0) == (labels[test] > 0.5)).mean())


def main():
    data, seeds = sentences(sys.argv[1]), range(1, int(sys.argv[2]) + 1)
    for name, measure in (("clicks", clicks), ("n-grams", lambda h, s: pyramid(h, s, data))):
        means = {}
        for hashes in (1, 4):
            results = [measure(hashes, seed) for seed in seeds]
            means[hashes] = 100 * float(np.mean(results))
            print(f"{name} with {hashes}: {means[hashes]:.2f} of",
                  " ".join(f"{100 * x:.2f}" for x in results), flush=True)
        print(f"{name} gain: {means[4] - means[1]:.2f}", flush=True)


main()
