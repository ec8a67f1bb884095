"""Fashion-MNIST's training images in memory, and the clock that every peer is measured by."""

import gzip
import json
import os
import statistics
import time

import numpy as np

FOLDER = os.environ.get("TRIREME_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
BATCH = 64


def load(flat):
    """Images as float32 in [0, 1], [60000, 784] or [60000, 1, 28, 28], and int64 labels."""
    with gzip.open(f"{FOLDER}/train-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16).astype(np.float32) / 255
    with gzip.open(f"{FOLDER}/train-labels-idx1-ubyte.gz") as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8).astype(np.int64)
    return images.reshape((-1, 784) if flat else (-1, 1, 28, 28)), labels


def measure(name, model, threads, seconds, step, batches):
    """Calls step(i), i cycling over the batches, and prints one JSON line.

    The first quarter of the time (at least 30 steps) is warm-up; what follows is cut into windows
    of about 0.2 s whose median is the figure, so that a hiccup of the machine does not count.
    step must return only when the step's work is done, or so soon that it cannot run ahead.
    """
    i = 0

    def run(limit, least):
        nonlocal i
        start = time.perf_counter()
        count = 0
        while count < least or time.perf_counter() - start < limit:
            loss = step(i % batches)
            i += 1
            count += 1
        return count / (time.perf_counter() - start), loss

    run(seconds / 4, 30)
    windows = []
    while len(windows) < 3 or len(windows) * 0.2 < seconds * 0.75:
        rate, loss = run(0.2, 3)
        windows.append(rate)
    print(json.dumps({
        "name": name,
        "model": model,
        "threads": threads,
        "steps_per_second": round(statistics.median(windows), 1),
        "windows": len(windows),
        "steps": i,
        "loss": round(float(loss), 4),
    }), flush=True)
