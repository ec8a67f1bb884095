#!/usr/bin/env python3
"""Exports networks of PyTorch and torchvision to ONNX and writes them as case folders that
onnx_node_cases reads, with the outputs of ONNX Runtime.

    PYTHON tests/onnx/torch_models.py build/onnx/models && onnx_node_cases build/onnx/models

Weights are random. Needs the packages torch, torchvision, onnx, onnxscript and onnxruntime.
"""

import argparse
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
import torch
import torchvision
from torch import nn


class UNet(nn.Module):
    """Two levels, with upsampling and skip connections."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.inner = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        top = self.down(x)
        inner = self.inner(nn.functional.max_pool2d(top, 2))
        wide = nn.functional.interpolate(inner, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(torch.cat([top, self.up(inner)], 1)) + wide[:, :2]


class Lengths(nn.Module):
    """A GRU over sequences with lengths of their own."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 16, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        y, state = self.gru(packed)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0], state


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(8, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.layer(x)[0])


class Encoder(nn.Module):
    """As BERT: embeddings of words and positions, and layers of attention."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(100, 32), nn.Embedding(64, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.layers(x, src_key_padding_mask=mask == 0)


class Decoder(nn.Module):
    """As GPT: one step with the keys and values of earlier ones."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 100, bias=False)

    def forward(self, ids, keys, values):
        x = self.words(ids)
        batch, steps, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, steps, 3, 4, 8).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        past = keys.shape[2]
        allowed = torch.arange(past + steps)[None, :] <= torch.arange(past, past + steps)[:, None]
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        x = x + self.out(y.transpose(1, 2).reshape(batch, steps, 32))
        return self.head(x), k, v


def networks():
    """(name, module, inputs, axes that are symbols by input)."""
    image = torch.randn(2, 3, 64, 64)
    vision = torchvision.models
    for name in ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0"):
        yield name, getattr(vision, name)(), (image,), {"x": {0: "batch"}}
    yield "unet", UNet(), (torch.randn(2, 1, 32, 32),), {"x": {0: "batch"}}
    yield "lstm", Recurrent(nn.LSTM), (torch.randn(3, 7, 8),), {"x": {0: "batch"}}
    yield "gru", Recurrent(nn.GRU), (torch.randn(3, 7, 8),), {"x": {0: "batch"}}
    yield "gru_with_lengths", Lengths(), (torch.randn(3, 7, 8), torch.tensor([7, 4, 2])), {}
    ids, mask = torch.randint(100, (2, 9)), torch.ones(2, 9, dtype=torch.int64)
    mask[1, 5:] = 0
    yield "encoder", Encoder(), (ids, mask), {"ids": {0: "batch"}, "mask": {0: "batch"}}
    past = torch.randn(2, 4, 6, 8)
    yield "decoder", Decoder(), (torch.randint(100, (2, 1)), past, torch.randn(2, 4, 6, 8)), {
        "keys": {2: "past"}, "values": {2: "past"}}


def write(folder, name, module, inputs, axes, old):
    """Exports by the exporter of today, or the one that traces if `old`."""
    module.eval()
    case = folder / (name + ("_traced" if old else ""))
    case.mkdir(parents=True)
    path = case / "model.onnx"
    names = list(module.forward.__code__.co_varnames[1:1 + len(inputs)])
    extra = {"dynamo": False, "dynamic_axes": axes} if old else {"dynamo": True, "external_data": False}
    if not old and axes:
        extra["dynamic_shapes"] = {n: axes.get(n) for n in names}
    torch.onnx.export(module, inputs, path, input_names=names, **extra)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {port.name: value.numpy() for port, value in zip(session.get_inputs(), inputs)}
    outputs = session.run(None, feeds)
    largest = max(float(np.abs(y).max()) for y in outputs)
    lines = [f"1e-4 {1e-4 * largest} 0"]
    for way, values in (("in", list(feeds.items())), ("out", [(f"y{i}", y) for i, y in enumerate(outputs)])):
        for i, (port, value) in enumerate(values):
            (case / f"{way}_{i}.pb").write_bytes(onnx.numpy_helper.from_array(value).SerializeToString())
            lines.append(f"{way} {port} tensor {way}_{i}.pb")
    (case / "case.txt").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    failed = 0
    for name, module, inputs, axes in networks():
        for old in (False, True):
            try:
                with torch.no_grad():
                    write(arguments.folder, name, module, inputs, axes, old)
            except Exception as error:  # noqa: BLE001  such as an operator that one exporter lacks
                shutil.rmtree(arguments.folder / (name + ("_traced" if old else "")), ignore_errors=True)
                print(f"not exported: {name}{'_traced' if old else ''}: {str(error).splitlines()[0][:150]}")
                failed += 1
    print(f"{failed} exports failed")


if __name__ == "__main__":
    sys.exit(main())
