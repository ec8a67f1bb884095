"""Measures PyTorch's training step: peer_torch.py MODEL THREADS SECONDS VARIANT.

MODEL is mlp or lenet. VARIANT is eager or compile, with "-cl" for channels-last images. Prints one
JSON line.
"""

import sys
import warnings

import torch
from torch import nn

from batches import BATCH, load, measure


def build(model):
    if model == "mlp":
        return nn.Sequential(
            nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def main():
    model, threads, seconds, variant = sys.argv[1:5]
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)

    images, labels = (torch.from_numpy(a) for a in load(flat=model == "mlp"))
    net = build(model)
    if variant.endswith("-cl"):
        net = net.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)

    def loss_of(x, y):
        return nn.functional.cross_entropy(net(x), y)

    if variant.startswith("compile"):
        loss_of = torch.compile(loss_of)

    def step(i):
        rows = slice(i * BATCH, (i + 1) * BATCH)
        loss = loss_of(images[rows], labels[rows])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    measure(f"torch {torch.__version__.split('+')[0]} {variant}", model, int(threads),
            float(seconds), step, len(labels) // BATCH)


main()
