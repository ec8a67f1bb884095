"""Measures PyTorch's training step: torch_case.py CASE THREADS SECONDS VARIANT.

CASE is a case of train_case.cc. VARIANT is eager or compile, with "-cl" for channels-last images,
or a variant of torch_sequences.py. Optimizers are fused. Look-ups with a sparse gradient stay
eager, because torch.compile does not support them. Optimizers stay eager too, except in the case
adam.
Prints one JSON line.
"""

import sys
import warnings

import torch
from torch.nn import functional as F

import torch_models as models
import torch_sequences as sequences
from batches import batches, measure, numbers


def optimizers(case, net):
    if case == "resnet20":
        return [torch.optim.SGD(net.parameters(), 0.05, 0.9, weight_decay=1e-4, fused=True)]
    if case == "transformer":
        return [torch.optim.Adam(net.parameters(), 1e-4, fused=True)]
    return [torch.optim.SparseAdam([net.vectors.weight, net.weights.weight], 1e-3),
            torch.optim.Adam(net.deep.parameters(), 1e-3, fused=True)]


def network(case, dropout):
    if case == "resnet20":
        return models.resnet20()
    return models.Transformer(dropout) if case == "transformer" else models.DeepFm()


def network_step(case, net, variant):
    """Returns step(i) of a network, and the number of batches."""
    data = [tuple(torch.from_numpy(a) for a in batch) for batch in batches(case)]
    if variant.endswith("-cl"):
        net.to(memory_format=torch.channels_last)
        data = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in data]
    loss_of_logits = F.binary_cross_entropy_with_logits if case == "deepfm" else F.cross_entropy
    updates = optimizers(case, net)

    def loss_of(x, y):
        return loss_of_logits(net(x), y)

    if variant.startswith("compile"):
        if case == "deepfm":
            dense = torch.compile(lambda v, w, y: loss_of_logits(net.dense(v, w), y))

            def loss_of(x, y):
                return dense(net.vectors(x), net.weights(x), y)
        else:
            loss_of = torch.compile(loss_of)

    def step(i):
        loss = loss_of(*data[i])
        for optimizer in updates:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in updates:
            optimizer.step()
        return loss.detach()

    return step, len(data)


def elementwise_step(x, variant):
    def loss_of(x):
        return models.chain(x).sum()

    if variant == "compile":
        loss_of = torch.compile(loss_of)

    def step(_):
        x.grad = None
        loss = loss_of(x)
        loss.backward()
        return loss.detach()

    return step, 1


def adam_step(variant, parameters=None):
    """Returns a step that only updates ResNet-18's parameters with constant gradients."""
    parameters = list(models.resnet18().parameters()) if parameters is None else parameters
    for i, p in enumerate(parameters):
        p.grad = torch.from_numpy(numbers(tuple(p.shape), i))
        p.requires_grad_()
    fused = variant != "compile"
    optimizer = torch.optim.Adam(parameters, 1e-3, fused=fused)
    update = optimizer.step if fused else torch.compile(lambda: optimizer.step())

    def step(_):
        update()

    return step, 1


def make_step(case, variant):
    if case == "elementwise":
        return elementwise_step(torch.randn(1_000_000, requires_grad=True), variant)
    if case == "adam":
        return adam_step(variant)
    if case in sequences.CASES:
        return sequences.make_step(case, variant)
    return network_step(case, network(case, 0.1), variant)


def main():
    case, threads, seconds, variant = sys.argv[1:5]
    warnings.simplefilter("ignore")
    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    step, count = make_step(case, variant)
    measure(f"torch {torch.__version__.split('+')[0]} {variant}", case, int(threads),
            float(seconds), step, count)


if __name__ == "__main__":
    main()
