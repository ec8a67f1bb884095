"""Prints the test error of exact least squares on the California housing table.

    least_squares.py california_housing.csv[.zst]

The split is that of trireme::data::california_housing (src/data/table.cc, order.cc), written a
second time. Features: every number, with missing ones replaced by the training mean, and a one-hot
encoding of the proximity of the ocean. Target: the price in 100,000 dollars. Prints the mean
squared error.
"""

import csv
import io
import subprocess
import sys

import numpy as np

MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def split(count, seed=80):
    """Rows for training (a fixed random four fifths) and for testing."""
    order = list(range(count))
    key = mix(mix(seed))
    for i in range(count, 1, -1):
        j = (mix(key ^ i) * i) >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    cut = count * 4 // 5
    return sorted(order[:cut]), sorted(order[cut:])


def main(path):
    raw = open(path, "rb").read()
    if path.endswith(".zst"):
        raw = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True).stdout
    rows = list(csv.DictReader(io.StringIO(raw.decode())))
    train, test = split(len(rows))
    columns = [np.ones(len(rows))]
    for name in rows[0]:
        cells = [row[name] for row in rows]
        if name == "ocean_proximity":
            columns += [np.array([cell == word for cell in cells], float) for word in set(cells)]
        elif name != "median_house_value":
            column = np.array([float(cell) if cell else np.nan for cell in cells])
            mean, stddev = np.nanmean(column[train]), np.nanstd(column[train])
            columns.append((np.nan_to_num(column, nan=mean) - mean) / stddev)
    x = np.column_stack(columns)
    y = np.array([float(row["median_house_value"]) for row in rows]) / 100000
    weights = np.linalg.lstsq(x[train], y[train], rcond=None)[0]
    print(f"{np.mean((x[test] @ weights - y[test]) ** 2):.6f}")


main(sys.argv[1])
