#!/usr/bin/env python3
"""pictures.py FOLDER COUNT: the first test pictures of Fashion-MNIST as FOLDER/NN.pgm."""

import gzip
import pathlib
import sys

IMAGES = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
pixels = gzip.open(IMAGES).read()[16:16 + count * 784]
for i in range(count):
    (folder / f"{i:02}.pgm").write_bytes(b"P5\n28 28\n255\n" + pixels[i * 784:(i + 1) * 784])
