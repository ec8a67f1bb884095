#!/usr/bin/env python3
"""The area under the ROC curve of a saved model on Adult's test file, by scikit-learn.

usage: adult_auc.py PREDICTIONS TEST_FILE

PREDICTIONS is what `trireme predict MODEL --data adult/test --rows 0: --json` prints; TEST_FILE the
original rows, zstd.
"""

import json
import subprocess
import sys

from sklearn.metrics import roc_auc_score

with open(sys.argv[1], encoding="utf-8") as file:
    scores = [prediction["values"][0] for prediction in json.load(file)]
rows = subprocess.run(["zstd", "-dcq", sys.argv[2]], check=True, capture_output=True, text=True)
words = [line.rsplit(",", 1)[1].strip().rstrip(".") for line in rows.stdout.splitlines()
         if line.count(",") == 14]
print(roc_auc_score([word == ">50K" for word in words], scores))
