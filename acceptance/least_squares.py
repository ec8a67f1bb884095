"""The test error of exact least squares on the housing table, by the split the job file uses.

    least_squares.py california_housing.csv[.zst]

The last fifth of the rows, in file order, is the test set; features are standardised by the mean and
deviation of the other rows; the last column is the target. Prints the mean squared error.
"""

import io
import subprocess
import sys

import numpy as np


def main(path):
    text = open(path, "rb").read()
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    rows = np.genfromtxt(io.BytesIO(text), delimiter=",", skip_header=1)
    cut = len(rows) - len(rows) // 5
    mean, deviation = rows[:cut, :-1].mean(0), rows[:cut, :-1].std(0)
    x = np.column_stack([(rows[:, :-1] - mean) / deviation, np.ones(len(rows))])
    y = rows[:, -1]
    weights = np.linalg.lstsq(x[:cut], y[:cut], rcond=None)[0]
    print(f"{np.mean((x[cut:] @ weights - y[cut:]) ** 2):.6f}")


main(sys.argv[1])
