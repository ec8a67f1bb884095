#!/usr/bin/env python3
"""Writes sentences as rows of word ids, and a job that classifies film reviews as good or bad.

usage: examples/sentences.py FOLDER [ZIP]
       trireme train FOLDER/sentences.toml

The job trains a Transformer encoder on the ids. ZIP has the sentence polarity data of Pang and Lee
2005 (5,331 sentences of each class), which NLTK also carries. By default it is
sentiment/sentence_polarity.zip in $TRIREME_DATA or ../shared/data. Every tenth sentence is for
testing. Six epochs take seconds and reach an accuracy of about 0.77 and an AUC of 0.85.
"""

import collections
import os
import sys
import zipfile

STEPS = 32    # words per sentence: longer ones are cut, shorter ones are padded with id 0
WORDS = 6000  # number of ids: the most frequent words from id 2 on; id 1 is any other word

JOB = f"""[data]
train = {{ libsvm = "train.libsvm", ids = {WORDS} }}
test = {{ libsvm = "test.libsvm", ids = {WORDS} }}
input = "ids"
batch = 64

[model]
name = "transformer_encoder"
padding_id = 0
positions = "learned"
width = 32
layers = 1
heads = 4
feed_forward = 64
dropout = 0.4

[train]
loss = "binary_cross_entropy"
metrics = ["auc"]
optimizer = {{ adamw = {{ learning_rate = 2e-3, weight_decay = 0.05 }} }}
schedule = {{ cosine = {{ warmup_steps = 50 }} }}
epochs = 6
"""


def find_zip():
    for folder in (os.environ.get("TRIREME_DATA"), "../shared/data"):
        path = os.path.join(folder or "", "sentiment", "sentence_polarity.zip")
        if os.path.exists(path):
            return path
    sys.exit("sentences.py: there is no sentiment/sentence_polarity.zip in $TRIREME_DATA or "
             "../shared/data\n  hint   pass its path: examples/sentences.py FOLDER ZIP")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    rows = []
    with zipfile.ZipFile(sys.argv[2] if len(sys.argv) == 3 else find_zip()) as archive:
        for label, kind in ((0, "neg"), (1, "pos")):
            text = archive.read(f"sentence_polarity/rt-polarity.{kind}").decode("latin-1")
            rows += [(label, line.split()) for line in text.splitlines()]
    tests, training = rows[::10], [row for i, row in enumerate(rows) if i % 10 != 0]
    counts = collections.Counter(word for _, words in training for word in words)
    word_ids = {word: i + 2 for i, (word, _) in enumerate(counts.most_common(WORDS - 2))}
    for name, part in (("train", training), ("test", tests)):
        with open(f"{folder}/{name}.libsvm", "w", encoding="utf-8") as file:
            for label, words in part:
                ids = [word_ids.get(word, 1) for word in words[:STEPS]]
                ids += [0] * (STEPS - len(ids))
                file.write(f"{label} {' '.join(f'{i}:1' for i in ids)}\n")
    with open(f"{folder}/sentences.toml", "w", encoding="utf-8") as file:
        file.write(JOB)
    print(f"{len(training)} sentences for training and {len(tests)} for testing; "
          f"next: trireme train {folder}/sentences.toml")


main()
