#!/usr/bin/env python3
"""Compares networks of PyTorch with networks of Trireme that load their weights.

Makes each network in PyTorch, with random weights and running statistics, and writes its state dict
and an input. load_torch loads them with Layout::torch and runs. Prints the largest difference of
the outputs of each network, which may be at most 1e-5.

usage: torch_weights.py LOAD_TORCH [NAME...]
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
except ImportError as error:
    sys.exit(f"{error}\n  hint   tools/install-deps.sh --test installs python3-numpy and "
             "python3-torch")

TOLERANCE = 1e-5
DTYPES = {"float32": "F32", "int64": "I64"}


# --- Files ----------------------------------------------------------------------------------------

def write_safetensors(path, tensors):
    header, parts, position = {}, [], 0
    for name, tensor in tensors.items():
        array = tensor.detach().contiguous().numpy()
        parts.append(array.tobytes())
        end = position + len(parts[-1])
        header[name] = {"dtype": DTYPES[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [position, end]}
        position = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def read_output(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8:8 + size])["output"]
    numbers = numpy.frombuffer(data[8 + size:], dtype=numpy.float32)
    return torch.from_numpy(numbers.reshape(entry["shape"]).copy())


# --- Networks -------------------------------------------------------------------------------------

class Block(nn.Module):
    """A block of ResNet with the names of torchvision."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        plan = ([(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
                if bottleneck else [(inputs, width, 3, stride), (width, width, 3, 1)])
        self.count = len(plan)
        for i, (a, b, kernel, step) in enumerate(plan, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b, momentum=0.9))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs, momentum=0.9))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = y.relu()
        return (y + (self.downsample(x) if self.downsample else x)).relu()


class ResNet(nn.Module):
    def __init__(self, counts, bottleneck, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64, momentum=0.9)
        self.pool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for stage, count in enumerate(counts):
            width, blocks = 64 << stage, []
            for i in range(count):
                blocks.append(Block(inputs, width, 2 if i == 0 and stage > 0 else 1, bottleneck))
                inputs = 4 * width if bottleneck else width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        y = self.pool(self.bn1(self.conv1(x)).relu())
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            y = stage(y)
        return self.fc(y.mean((2, 3)))


def keep_scale(network):
    """Weights with which values do not shrink from layer to layer."""
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight)


class Vgg(nn.Module):
    def __init__(self, plan, norm):
        super().__init__()
        layers, inputs = [], 3
        for word in plan.split():
            if word == "M":
                layers.append(nn.MaxPool2d(2))
                continue
            layers.append(nn.Conv2d(inputs, inputs := int(word), 3, padding=1))
            layers += [nn.BatchNorm2d(inputs, momentum=0.9)] if norm else []
            layers.append(nn.ReLU())
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(inputs, 24), nn.ReLU(), nn.Dropout(), nn.Linear(24, 16), nn.ReLU(),
            nn.Dropout(), nn.Linear(16, 10))
        keep_scale(self.features)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def conv_norm(inputs, outputs, kernel=1, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs, momentum=0.9)]


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        wide, layers = inputs * expansion, []
        if expansion != 1:
            layers.append(nn.Sequential(*conv_norm(inputs, wide), nn.ReLU6()))
        layers.append(nn.Sequential(*conv_norm(wide, wide, 3, stride, wide), nn.ReLU6()))
        self.conv = nn.Sequential(*layers, *conv_norm(wide, outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [nn.Sequential(*conv_norm(3, 32, 3, 2), nn.ReLU6())], 32
        for expansion, outputs, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                                  (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                                  (6, 320, 1, 1)]:
            for i in range(count):
                layers.append(InvertedResidual(inputs, outputs, stride if i == 0 else 1, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers,
                                      nn.Sequential(*conv_norm(inputs, 1280), nn.ReLU6()))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 10))
        keep_scale(self.features)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class Sequences(nn.Module):
    """Runs a recurrent layer on sequences of different lengths, one at a time."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, splits):
        parts = [self.layer(x[a:b].unsqueeze(0))[0][0] for a, b in zip(splits[:-1], splits[1:])]
        return torch.cat(parts)

    def state_dict(self):
        return self.layer.state_dict()


class Attention(nn.MultiheadAttention):
    def forward(self, query, key, value):
        return super().forward(query, key, value, need_weights=False)[0]


class LstmCell(nn.LSTMCell):
    def forward(self, x, h, c):
        return super().forward(x, (h, c))[0]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.ModuleDict({"table": nn.Embedding(9, 5, padding_idx=0),
                                    "out": nn.Linear(5, 3)})

    def forward(self, ids):
        return self.words["out"](self.words["table"](ids))


def sequential():
    return nn.Sequential(
        nn.Conv2d(4, 8, 3, 2, groups=2), nn.GroupNorm(2, 8), nn.PReLU(8),
        nn.ConvTranspose2d(8, 6, 3, 2, groups=2), nn.Flatten(2), nn.Conv1d(6, 5, 4),
        nn.InstanceNorm1d(5, affine=True), nn.ConvTranspose1d(5, 5, 3),
        nn.Unflatten(2, (10, 12)), nn.Unflatten(1, (1, 5)), nn.Conv3d(1, 2, 3), nn.Flatten(),
        nn.Linear(480, 7, bias=False), nn.LayerNorm(7))


def encoder(layers, pre_norm):
    block = nn.TransformerEncoderLayer(32, 4, 48, batch_first=True, norm_first=pre_norm)
    return nn.TransformerEncoder(block, layers, nn.LayerNorm(32) if pre_norm else None)


class Decoder(nn.TransformerDecoder):
    def forward(self, x, memory):
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        return super().forward(x, memory, tgt_mask=mask)


def decoder():
    block = nn.TransformerDecoderLayer(32, 4, 48, batch_first=True, norm_first=True)
    return Decoder(block, 2, nn.LayerNorm(32))


ROWS = {"x": (15, 12), "x.splits": [0, 5, 6, 15]}
NETWORKS = {
    "resnet18": (lambda: ResNet((2, 2, 2, 2), False, 1000), {"x": (2, 3, 224, 224)}),
    "resnet50": (lambda: ResNet((3, 4, 6, 3), True, 10), {"x": (2, 3, 64, 64)}),
    "vgg11": (lambda: Vgg("16 M 32 M 64 64 M 128 128 M 128 128 M", False), {"x": (6, 3, 32, 32)}),
    "vgg13_bn": (lambda: Vgg("16 16 M 32 32 M 64 64 M 128 128 M 128 128 M", True),
                 {"x": (6, 3, 32, 32)}),
    "mobilenet_v2": (MobileNetV2, {"x": (8, 3, 64, 64)}),
    "convolutions": (sequential, {"x": (2, 4, 11, 11)}),
    "embedding": (Words, {"x": [[0, 1, 8, 4, 0, 2], [7, 3, 3, 6, 5, 0]]}),
    "lstm": (lambda: Sequences(nn.LSTM(12, 20, 2, batch_first=True, bidirectional=True)), ROWS),
    "lstm_projection": (lambda: Sequences(nn.LSTM(12, 20, batch_first=True, proj_size=7)), ROWS),
    "gru": (lambda: Sequences(nn.GRU(12, 9, 2, batch_first=True, bidirectional=True)), ROWS),
    "simple_rnn": (lambda: Sequences(nn.RNN(12, 9, batch_first=True)), ROWS),
    "lstm_cell": (lambda: LstmCell(5, 4), {"x": (3, 5), "h": (3, 4), "c": (3, 4)}),
    "gru_cell": (lambda: nn.GRUCell(5, 4), {"x": (3, 5), "h": (3, 4)}),
    "transformer_encoder": (lambda: encoder(3, True), {"x": (2, 9, 32)}),
    "transformer_encoder_post_norm": (lambda: encoder(2, False), {"x": (2, 9, 32)}),
    "transformer_decoder": (decoder, {"x": (2, 5, 32), "memory": (2, 9, 32)}),
    "attention_of_other_widths":
        (lambda: Attention(8, 2, kdim=6, vdim=10, batch_first=True),
         {"x": (2, 5, 8), "key": (2, 9, 6), "value": (2, 9, 10)}),
}


def randomize(network, inputs):
    """No bias of 0 and no scale of 1, as after a training, and running statistics of a batch."""
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if name.endswith(("weight", "bias")) and tensor.dim() == 1:
                tensor.add_(torch.empty_like(tensor).uniform_(-0.3, 0.3))
        if any(isinstance(module, nn.BatchNorm2d) for module in network.modules()):
            network.train()(*inputs)
    return network.eval()


def write(name, folder):
    """Writes the state dict and an input. Returns the output of PyTorch."""
    make, sizes = NETWORKS[name]
    torch.manual_seed(sum(name.encode()))
    inputs = {key: torch.tensor(size) if isinstance(size, list) else torch.randn(size)
              for key, size in sizes.items()}
    network = randomize(make(), inputs.values())
    write_safetensors(f"{folder}/{name}.weights.safetensors", network.state_dict())
    write_safetensors(f"{folder}/{name}.inputs.safetensors", inputs)
    with torch.no_grad():
        output = network(*inputs.values())
    if output.shape[0] > 1 and float(output.std(0).max()) < 0.01:
        sys.exit(f"{name}: the outputs do not depend on the input")
    return output


def main():
    program, names = sys.argv[1], sys.argv[2:] or list(NETWORKS)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        expected = {name: write(name, folder) for name in names}
        if subprocess.run([program, folder, *names], check=False).returncode != 0:
            sys.exit(1)
        for name in names:
            output = read_output(f"{folder}/{name}.outputs.safetensors")
            difference = float((output - expected[name]).abs().max())
            failed += not difference <= TOLERANCE
            print(f"{name:30} largest difference: {difference:.1e} of outputs up to "
                  f"{float(expected[name].abs().max()):.2g}")
    sys.exit(1 if failed else 0)


main()
