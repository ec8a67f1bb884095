#!/usr/bin/env python3
"""Compares the networks of the model bank with PyTorch.

Builds each network in PyTorch from its paper and loads the weights that `model_references` wrote.
Compares the outputs of both for one input, in inference and in training mode.

usage: torch_reference.py MODEL_TWINS [NAME...]
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
    sys.exit(f"{error}\n  hint   tools/install-deps.sh --test installs python3-numpy and "
             "python3-torch")

# Relative to the largest logit, for float32 against float64. In training many layers divide by the
# standard deviation of a few numbers.
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
        kind = {"F32": numpy.float32, "I64": numpy.int64}[entry["dtype"]]
        tensor = torch.from_numpy(numpy.frombuffer(data[begin:end], dtype=kind).copy())
        tensor = tensor.reshape(entry["shape"])
        result[name] = tensor if entry["dtype"] == "I64" else tensor.double()
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
    def __init__(self, inputs, width, stride, bottleneck, pad, stride_in_3x3):
        super().__init__()
        self.outputs = width * (4 if bottleneck else 1)
        self.stride, self.pad = stride, pad
        if bottleneck:
            first, second = (1, stride) if stride_in_3x3 else (stride, 1)
            self.body = nn.Sequential(
                *conv_norm(inputs, width, 1, first), nn.ReLU(),
                *conv_norm(width, width, 3, second), nn.ReLU(),
                *conv_norm(width, self.outputs, 1))
        else:
            self.body = nn.Sequential(*conv_norm(inputs, width, 3, stride), nn.ReLU(),
                                      *conv_norm(width, width))
        self.changes_shape = stride != 1 or inputs != self.outputs
        if self.changes_shape and not pad:
            self.project = nn.Sequential(*conv_norm(inputs, self.outputs, 1, stride))

    def forward(self, x):
        y = self.body(x)
        if not self.changes_shape:
            return F.relu(y + x)
        if not self.pad:
            return F.relu(y + self.project(x))
        x = x[:, :, ::self.stride, ::self.stride]
        return F.relu(y + F.pad(x, (0, 0, 0, 0, 0, self.outputs - x.shape[1])))


def resnet(blocks, width, classes, bottleneck=False, pad=False, small=True,
           stride_in_3x3=False):
    layers = conv_norm(3, width, 3 if small else 7, 1 if small else 2) + [nn.ReLU()]
    layers += [] if small else [nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            block = Block(channels, width * 2 ** stage, stride, bottleneck, pad,
                          stride_in_3x3)
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
    """channels: of the stem and of the seven stages."""
    layers = conv_norm(3, channels[0], 3, strides[0]) + [nn.ReLU6()]
    before = channels[0]
    expansions, counts = (1, 6, 6, 6, 6, 6, 6), (1, 2, 3, 4, 3, 3, 1)
    for out, stride, expansion, count in zip(channels[1:], strides[1:], expansions, counts):
        for i in range(count):
            layers.append(InvertedResidual(before, out, stride if i == 0 else 1, expansion))
            before = out
    return nn.Sequential(*layers, *conv_norm(before, last, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(last, classes))


def sinusoids(steps, width):
    """Vaswani et al. 2017, section 3.5."""
    angle = torch.arange(steps)[:, None] / 10000 ** (torch.arange(0, width, 2).double() / width)
    return torch.stack([angle.sin(), angle.cos()], 2).reshape(steps, width)


class Transformer(nn.Module):
    """first: the module that makes steps from the input. With ids as input, id 0 is padding."""

    def __init__(self, first, positions, width, layers, heads, inner, classes, **options):
        super().__init__()
        self.first, self.causal = first, options.pop("causal", False)
        self.mean = options.pop("mean", True)
        if isinstance(positions, int):
            positions = nn.Parameter(torch.zeros(positions, width))
        self.positions = positions
        layer = nn.TransformerEncoderLayer(width, heads, inner, 0.0, batch_first=True, **options)
        norm = nn.LayerNorm(width) if options["norm_first"] else None
        self.encoder = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)
        self.last = nn.Linear(width, classes)

    def forward(self, x):
        padding = x == 0 if x.dtype == torch.int64 else None
        y = self.first(x)
        y = y if self.positions is None else y + self.positions
        steps = y.shape[1]
        masked = torch.ones(steps, steps, dtype=torch.bool).triu(1) if self.causal else None
        y = self.encoder(y, mask=masked, src_key_padding_mask=padding)
        if not self.mean:
            return self.last(y[:, 0])
        if padding is None:
            return self.last(y.mean(1))
        y = y.masked_fill(padding[:, :, None], 0).sum(1)
        return self.last(y / (~padding).sum(1, keepdim=True))

    def load(self, ours):
        """Loads Trireme's parameters by name; one layer of PyTorch has several of them."""
        ours = {name.split("/", 1)[-1]: value for name, value in ours.items()}

        def load_linear(module, name):
            module.load_state_dict({"weight": ours.pop(name + ".weight").t(),
                                    "bias": ours.pop(name + ".bias")})

        def load_norm(module, name):
            module.load_state_dict({"weight": ours.pop(name + ".weight"),
                                    "bias": ours.pop(name + ".bias")})

        if isinstance(self.first, nn.Linear):
            load_linear(self.first, "linear_0")
        elif isinstance(self.first, nn.Embedding):
            self.first.load_state_dict({"weight": ours.pop("embedding_0.weight")})
        if isinstance(self.positions, nn.Parameter):
            self.positions.data = ours.pop("learned_positions_0.weight")
        for i, layer in enumerate(self.encoder.layers):
            block = f"encoder/block_{i}/"
            query, key, value = (ours.pop(f"{block}attention/{part}.weight")
                                 for part in ("query", "key", "value"))
            layer.self_attn.in_proj_weight.data = torch.cat([query.t(), key.t(), value.t()])
            of_query, of_value = (ours.pop(f"{block}attention/{part}.bias")
                                  for part in ("query", "value"))
            layer.self_attn.in_proj_bias.data = torch.cat(
                [of_query, torch.zeros_like(of_query), of_value])
            load_linear(layer.self_attn.out_proj, block + "attention/out")
            load_linear(layer.linear1, block + "feed_forward_in")
            load_linear(layer.linear2, block + "feed_forward_out")
            load_norm(layer.norm1, block + "attention_norm")
            load_norm(layer.norm2, block + "feed_forward_norm")
        if self.encoder.norm is not None:
            load_norm(self.encoder.norm, "encoder/final_norm")
        load_linear(self.last, "linear_1" if "linear_1.weight" in ours else "linear_0")
        if ours:
            raise ValueError(f"PyTorch's network has no parameters for {sorted(ours)}")


class Patches(nn.Module):
    def forward(self, x):
        return F.unfold(x, (2, 4), stride=(2, 4)).transpose(1, 2)


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
        lambda: resnet((3, 4, 6, 3), 16, 10, bottleneck=True, small=False, stride_in_3x3=True),
    "mobilenet_v2": lambda: mobilenet_v2((32, 16, 24, 32, 64, 96, 160, 320),
                                         (2, 1, 2, 2, 2, 1, 2, 1), 1280, 20),
    # Half the channels, rounded to a multiple of 8 that is at least 90 % of it.
    "mobilenet_v2_half": lambda: mobilenet_v2((16, 8, 16, 16, 32, 48, 80, 160),
                                              (1, 1, 1, 2, 2, 1, 2, 1), 1280, 20),
    "transformer_ids":
        lambda: Transformer(nn.Embedding(5, 16), sinusoids(9, 16), 16, 2, 4, 64, 10,
                            activation="gelu", norm_first=True),
    "transformer_numbers":
        lambda: Transformer(nn.Linear(6, 8), 7, 8, 3, 2, 12, 3, norm_first=False, mean=False),
    "transformer_patches":
        lambda: Transformer(Patches(), None, 24, 2, 3, 96, 10, norm_first=True, causal=True),
}


def load_weights(network, order, tensors):
    """Both libraries create layers in the same order, and each has the same kinds of parameters."""
    if isinstance(network, Transformer):
        network.load({name: tensors[name] for name in order})
        return
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
    load_weights(network, order, tensors)
    errors = {}
    for mode in TOLERANCES:
        network.train(mode == "training")
        with torch.no_grad():
            expected = network(tensors["input"])
        errors[mode] = float((tensors[mode] - expected).abs().max() / expected.abs().max())
    return errors


def main():
    program, names = sys.argv[1], sys.argv[2:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, folder, *names], check=True, capture_output=True, text=True)
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
        if not names and set(done.stdout.split()) != set(TWINS):
            print("FAIL: the networks of model_references and of torch_reference.py differ")
            failed += 1
    sys.exit(1 if failed else 0)


main()
