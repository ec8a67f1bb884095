"""Word vectors of a classifier of sentences as product codes.

    product_embedding.py DATA FOLDER

Prints the accuracy with the whole table and with codes, and the sizes of both in saved models."""

import os
import sys

import numpy as np

import trireme as tr
from sentence_polarity import labeled_sentences


def sentences(folder):
    """Ids of the words of the training part, 0 for others. Every fifth sentence is a test."""
    texts = labeled_sentences(folder)
    test = np.arange(len(texts)) % 5 == 0
    words = {}
    for (text, _), is_test in zip(texts, test):
        for word in () if is_test else text:
            words.setdefault(word, len(words) + 1)
    ids = [[words.get(word, 0) for word in text] for text, _ in texts]
    return ids, np.array([label for _, label in texts], "i8"), test, len(words) + 1


def size_of(program, session, outputs, folder):
    tr.save_model(program, session, folder, outputs=outputs)
    return os.path.getsize(os.path.join(folder, "weights.safetensors"))


def main():
    ids, labels, test, count = sentences(sys.argv[1])
    words = tr.Input((), dtype=tr.i64, name="words", levels=1)
    rows = tr.nn.embedding(words, count, 64)
    x = tr.nn.dropout(tr.sequence.mean(rows), rate=0.5)
    model = tr.Model(words, tr.nn.linear(x, 2))
    model.compile(tr.optim.Adam(lr=2e-3), "cross_entropy", seed=1)
    model.fit([x for x, skip in zip(ids, test) if not skip], labels[~test], batch_size=64,
              epochs=8)
    texts = [x for x, kept in zip(ids, test) if kept]
    small = tr.compression.product_quantize(model.program, model.session, model.outputs, parts=8)
    splits = np.cumsum([0] + [len(text) for text in texts])
    feeds = {"words": np.concatenate(texts).astype("i8"), "words.splits": splits.astype("i8")}

    def accuracy(session, output):
        return float((session.run(feeds, output).argmax(1) == labels[test]).mean())

    whole = accuracy(model.session, model.outputs[0])
    codes = accuracy(small.session, small.program.outputs[0])
    folder = sys.argv[2]
    large_size = size_of(model.program, model.session, model.outputs, folder + "/whole")
    small_size = size_of(small.program, small.session, small.program.outputs, folder + "/codes")
    print(f"table of {count} rows: accuracy {whole:.4f}, {large_size} bytes; "
          f"codes: accuracy {codes:.4f}, {small_size} bytes")
    print(f"smaller: {large_size / small_size:.2f}")
    print(f"points lost: {100 * (whole - codes):.2f}")


main()
