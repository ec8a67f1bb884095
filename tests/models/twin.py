#!/usr/bin/env python3
"""Builds the networks of the model bank in PyTorch, from their papers, gives them the weights that
`model_twins` wrote, and compares what both make of one input, in inference and in training mode.

usage: twin.py MODEL_TWINS [NAME...]
"""

import json
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Of the largest logit, float32 against float64. In training many layers divide by the deviation of
# a few numbers.
TOLERANCES = {"inference": 2e-5, "training": 5e-4}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    result = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], dtype=numpy.float32)
        result[name] = torch.from_numpy(array.copy()).reshape(entry["shape"]).double()
    return result


def conv_norm(inputs, outputs, kernel=3, stride=1, groups=1, bias=False):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=bias),
            nn.BatchNorm2d(outputs)]


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(30, 8), nn.ReLU(), nn.Linear(8, 7), nn.ReLU(),
                         nn.Linear(7, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def vgg(plan, width, norm, hidden):
    layers, channels = [], 3
    for word in plan.split():
        if word == "M":
            layers.append(nn.MaxPool2d(2))
            continue
        out = int(int(word) * width)
        layers.append(nn.Conv2d(channels, out, 3, padding=1))
        layers += [nn.BatchNorm2d(out)] if norm else []
        layers.append(nn.ReLU())
        channels = out
    layers.append(nn.Flatten())
    for units in hidden:
        layers += [nn.Linear(channels, units), nn.ReLU()]
        channels = units
    return nn.Sequential(*layers, nn.Linear(channels, 10))


class Block(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck, pad, late):
        super().__init__()
        self.outputs = width * (4 if bottleneck else 1)
        self.stride, self.pad = stride, pad
        if bottleneck:
            first, second = (1, stride) if late else (stride, 1)
            self.body = nn.Sequential(
                *conv_norm(inputs, width, 1, first), nn.ReLU(),
                *conv_norm(width, width, 3, second), nn.ReLU(),
                *conv_norm(width, self.outputs, 1))
        else:
            self.body = nn.Sequential(*conv_norm(inputs, width, 3, stride), nn.ReLU(),
                                      *conv_norm(width, width))
        self.other = stride != 1 or inputs != self.outputs
        if self.other and not pad:
            self.project = nn.Sequential(*conv_norm(inputs, self.outputs, 1, stride))

    def forward(self, x):
        y = self.body(x)
        if not self.other:
            return F.relu(y + x)
        if not self.pad:
            return F.relu(y + self.project(x))
        x = x[:, :, ::self.stride, ::self.stride]
        return F.relu(y + F.pad(x, (0, 0, 0, 0, 0, self.outputs - x.shape[1])))


def resnet(blocks, width, classes, bottleneck=False, pad=False, small=True, late=False):
    layers = conv_norm(3, width, 3 if small else 7, 1 if small else 2) + [nn.ReLU()]
    layers += [] if small else [nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            block = Block(channels, width * 2 ** stage, stride, bottleneck, pad, late)
            layers.append(block)
            channels = block.outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, classes))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        wide = inputs * expansion
        layers = conv_norm(inputs, wide, 1) + [nn.ReLU6()] if expansion != 1 else []
        layers += conv_norm(wide, wide, 3, stride, groups=wide) + [nn.ReLU6()]
        self.body = nn.Sequential(*layers, *conv_norm(wide, outputs, 1))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet_v2(channels, strides, last, classes):
    """channels: of the stem and the seven stages."""
    layers = conv_norm(3, channels[0], 3, strides[0]) + [nn.ReLU6()]
    before = channels[0]
    expansions, counts = (1, 6, 6, 6, 6, 6, 6), (1, 2, 3, 4, 3, 3, 1)
    for out, stride, expansion, count in zip(channels[1:], strides[1:], expansions, counts):
        for i in range(count):
            layers.append(InvertedResidual(before, out, stride if i == 0 else 1, expansion))
            before = out
    return nn.Sequential(*layers, *conv_norm(before, last, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(last, classes))


A = "64 M 128 M 256 256 M 512 512 M 512 512 M"
D = "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M"
TWINS = {
    "mlp": mlp,
    "lenet": lenet,
    "vgg11": lambda: vgg(A, 0.25, False, [32]),
    "vgg16_bn": lambda: vgg(D, 0.25, True, [32, 16]),
    "resnet20": lambda: resnet((3, 3, 3), 16, 10, pad=True),
    "resnet20_project": lambda: resnet((3, 3, 3), 16, 10),
    "resnet18": lambda: resnet((2, 2, 2, 2), 32, 12, small=False),
    "resnet18_small_input": lambda: resnet((2, 2, 2, 2), 16, 10),
    "resnet50": lambda: resnet((3, 4, 6, 3), 16, 10, bottleneck=True, small=False),
    "resnet50_stride_in_3x3":
        lambda: resnet((3, 4, 6, 3), 16, 10, bottleneck=True, small=False, late=True),
    "mobilenet_v2": lambda: mobilenet_v2((32, 16, 24, 32, 64, 96, 160, 320),
                                         (2, 1, 2, 2, 2, 1, 2, 1), 1280, 20),
    # Half the channels, and multiples of 8 that are not below nine tenths of that.
    "mobilenet_v2_half": lambda: mobilenet_v2((16, 8, 16, 16, 32, 48, 80, 160),
                                              (1, 1, 1, 2, 2, 1, 2, 1), 1280, 20),
}


def give_weights(network, order, tensors):
    """Layers are made in the same order here and there; each has the same kinds of parameters."""
    ours = {}
    for name in order:
        layer, kind = name.rsplit(".", 1)
        ours.setdefault(layer, {})[kind] = tensors[name]
    theirs = [m for m in network.modules() if isinstance(m, (nn.Conv2d, nn.BatchNorm2d, nn.Linear))]
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} layers with parameters, but {len(theirs)} in PyTorch")
    for (layer, parameters), module in zip(ours.items(), theirs):
        state = {kind: value.t() if isinstance(module, nn.Linear) and kind == "weight" else value
                 for kind, value in parameters.items()}
        if isinstance(module, nn.BatchNorm2d):
            state["num_batches_tracked"] = torch.tensor(0)
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise ValueError(f"{layer}: {error}") from error


def compare(name, folder):
    tensors = read_safetensors(f"{folder}/{name}.safetensors")
    with open(f"{folder}/{name}.txt", encoding="utf-8") as file:
        order = file.read().split()
    network = TWINS[name]().double()
    give_weights(network, order, tensors)
    errors = {}
    for mode in TOLERANCES:
        network.train(mode == "training")
        with torch.no_grad():
            expected = network(tensors["input"])
        errors[mode] = float((tensors[mode] - expected).abs().max() / expected.abs().max())
    return errors


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, folder, *wanted], check=True, capture_output=True, text=True)
        for name in done.stdout.split():
            try:
                errors = compare(name, folder)
                good = all(errors[mode] <= TOLERANCES[mode] for mode in errors)
                verdict = "ok" if good else "FAIL"
                print(f"{name:24}", *(f"{mode} {e:.2e}" for mode, e in errors.items()), verdict)
            except (KeyError, ValueError) as problem:
                print(f"{name:24} FAIL {problem}")
                verdict = "FAIL"
            failed += verdict != "ok"
        if not wanted and set(done.stdout.split()) != set(TWINS):
            print("FAIL: not every network has a twin")
            failed += 1
    sys.exit(1 if failed else 0)


main()
