"""Data in memory and the clock for every peer; measuring.h is the same for Trireme."""

import gzip
import json
import os
import re
import statistics
import time

import numpy as np

FOLDER = os.environ.get("TRIREME_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
BATCH = 64  # batch size of the networks on Fashion-MNIST


def load(flat):
    """Fashion-MNIST's training images as float32 in [0, 1], of shape [60000, 784] or
    [60000, 1, 28, 28], and their int64 labels."""
    with gzip.open(f"{FOLDER}/train-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16).astype(np.float32) / 255
    with gzip.open(f"{FOLDER}/train-labels-idx1-ubyte.gz") as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8).astype(np.int64)
    return images.reshape((-1, 784) if flat else (-1, 1, 28, 28)), labels


def uniform(shape, seed):
    """Synthetic float32 numbers in [0, 1), multiples of 2^-24: splitmix64 (Steele et al. 2014)."""
    i = np.arange(1, np.prod(shape, dtype=np.int64) + 1, dtype=np.uint64)
    z = (np.uint64(seed) << np.uint64(40)) + i * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)).reshape(shape)


def numbers(shape, seed):
    """Synthetic float32 numbers in [-1, 1)."""
    return 2 * uniform(shape, seed) - 1


def labels(count, seed, classes=10):
    return (uniform((count,), seed) * np.float32(classes)).astype(np.int64)


def lengths(count, min_length, max_length, seed):
    span = np.float32(max_length - min_length + 1)
    return min_length + (uniform((count,), seed) * span).astype(np.int64)


DEEPFM_ROWS, DEEPFM_FIELDS, DEEPFM_BATCH = 1_000_000, 26, 512


def batches(case):
    """The batches of a case of train_case.cc: a list of tuples of arrays."""
    if case == "resnet20":
        return [(numbers((128, 3, 32, 32), i), labels(128, 100 + i)) for i in range(4)]
    if case == "transformer":
        return [(numbers((16, 64, 256), i), labels(16, 100 + i)) for i in range(4)]
    if case == "deepfm":
        result = []
        for i in range(64):
            u = uniform((DEEPFM_BATCH, DEEPFM_FIELDS), i)
            ids = ((u * u * u).astype(np.float64) * DEEPFM_ROWS).astype(np.int64)
            clicks = uniform((DEEPFM_BATCH, 1), 100 + i) < 0.25
            result.append((ids, clicks.astype(np.float32)))
        return result
    if case in SEQUENCES:
        return [SEQUENCES[case](i) for i in range(8)]
    return [()]


WORDS, PIECES = 10_000, 2_000


def sentences(i):
    """Ids of all words, lengths of the sentences, labels."""
    length = lengths(64, 10, 200, i)
    return labels(length.sum(), 100 + i, WORDS), length, labels(64, 200 + i, 2)


def translations(i):
    """Ids and lengths of the source, those of the target, and the word after each target word."""
    source, target = lengths(32, 20, 50, i), lengths(32, 20, 50, 50 + i)
    return (labels(source.sum(), 100 + i, PIECES), source,
            labels(target.sum(), 200 + i, PIECES), target,
            labels(target.sum(), 300 + i, PIECES))


def documents(i):
    """Ids of all words, sentences of each document, words of each sentence, labels."""
    outer = lengths(16, 3, 30, i)
    inner = lengths(outer.sum(), 3, 40, 50 + i)
    return labels(inner.sum(), 100 + i, WORDS), outer, inner, labels(16, 200 + i, 2)


SEQUENCES = {"sentiment": sentences, "own_lstm": sentences, "translation": translations,
             "documents": documents}


def padded(flat, length):
    """Splits packed rows into a matrix [n, longest], padded with zeros."""
    rows = np.zeros((len(length), length.max()), flat.dtype)
    rows[np.arange(rows.shape[1]) < length[:, None]] = flat
    return rows


def peak_memory_mb():
    """The peak memory of this process in MB."""
    with open("/proc/self/status") as f:
        found = re.search(r"VmHWM:\s*(\d+) kB", f.read())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def measure(name, case, threads, seconds, step, count, **more):
    """Calls step(i), where i cycles over `count` batches, and prints one JSON line.

    The first quarter of the time, and at least 3 steps, is warm-up. The rest is cut into 3 or more
    windows of at least 0.2 s each, and the result is their median, so that a short disturbance of
    the machine does not count. step must not return before its work is done, except if it returns
    so early that it cannot run ahead.
    """
    i = 0

    def run(min_seconds, min_steps):
        nonlocal i
        start = time.perf_counter()
        steps = 0
        while steps < min_steps or time.perf_counter() - start < min_seconds:
            result = step(i % count)
            i += 1
            steps += 1
        return steps / (time.perf_counter() - start), result

    first, _ = run(0, 1)
    run(seconds / 4, 2)
    windows = []
    end = time.perf_counter() + seconds * 0.75
    while len(windows) < 3 or time.perf_counter() < end:
        rate, result = run(0.2, 1)
        windows.append(rate)
    rate = statistics.median(windows)
    print(json.dumps({
        "name": name,
        "case": case,
        "threads": threads,
        "steps_per_second": rate,
        "first_step_seconds": 1 / first,
        "compile_seconds": max(0.0, 1 / first - 1 / rate),
        "peak_mb": round(peak_memory_mb(), 1),
        "loss": None if result is None else float(result),
    } | more), flush=True)
