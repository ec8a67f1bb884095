#!/usr/bin/env python3
"""fit_case.py CASE THREADS: what fit_case.cc measures, from Python."""

import sys
import time

import numpy as np

import trireme as tr

SEQUENCES = 3200


def mlp(threads):
    image = tr.Input((1, 28, 28), name="image")
    x = tr.nn.linear(tr.nn.flatten(image), 200, activation="relu")
    model = tr.Model(image, tr.nn.linear(tr.nn.linear(x, 200, activation="relu"), 10))
    model.compile(tr.optim.Adam(lr=1e-3), "cross_entropy", target="label", threads=threads)
    train = tr.datasets.fashion_mnist("train")
    model.fit(train, batch_size=64, seed=7, epochs=1, progress=False)
    start = time.perf_counter()
    model.fit(train, batch_size=64, seed=7, epochs=2, progress=False)
    return 2 * 60000 / 64 / (time.perf_counter() - start)


def rnn(threads):
    program = tr.Program("rnn")
    rows = program.input("rows", tr.f32, ("batch", 32), levels=1)
    label = program.input("label", tr.i64, ("batch",))

    @tr.nn.rnn
    def run(step):
        row = step.input(rows)
        h = step.state(width=64)
        now = tr.nn.linear(tr.concat([row, h], axis=1), 64, activation="tanh")
        step.update(h, now)
        step.output(now)

    _, (last,) = run
    loss = tr.mean(tr.losses.cross_entropy(tr.nn.linear(last, 2), label))
    trainer = tr.Trainer(loss, tr.optim.Adam(lr=1e-3), threads=threads)
    batches = []
    for first in range(0, SEQUENCES, 32):
        ends = np.cumsum([0] + [20 + (first + i) * 7 % 41 for i in range(32)])
        batches.append({"rows": np.zeros((ends[-1], 32), np.float32), "rows.splits": ends,
                        "label": np.zeros(32, np.int64)})
    for batch in batches:
        trainer.step(batch)
    start = time.perf_counter()
    for _ in range(3):
        for batch in batches:
            trainer.step(batch)
    return 3 * len(batches) / (time.perf_counter() - start)


if __name__ == "__main__":
    print(f"{dict(mlp=mlp, rnn=rnn)[sys.argv[1]](int(sys.argv[2])):.2f}")
