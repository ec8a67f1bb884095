#!/usr/bin/env python3
"""Exports networks of PaddlePaddle to ONNX by paddle2onnx and writes them as case folders that
onnx_node_cases reads, with the outputs of ONNX Runtime.

    PYTHON tests/onnx/paddle_models.py build/onnx/paddle && onnx_node_cases build/onnx/paddle

Weights are random. Needs the packages paddlepaddle, paddle2onnx, onnx and onnxruntime.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import paddle
import paddle2onnx
from paddle import nn
from paddle.static import InputSpec


class Words(nn.Layer):
    """An embedding, a recurrent layer of both directions, and its last states."""

    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(30, 8)
        self.layer = kind(8, 6, direction="bidirect")
        self.out = nn.Linear(12, 3)

    def forward(self, ids):
        y, _ = self.layer(self.embedding(ids))
        return self.out(paddle.mean(y, axis=1))


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 16)
        block = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, activation="gelu")
        self.blocks = nn.TransformerEncoder(block, 2)

    def forward(self, ids):
        return self.blocks(self.embedding(ids))[:, 0]


class Detector(nn.Layer):
    """Two levels of features, of which the coarse one is enlarged."""

    def __init__(self):
        super().__init__()
        self.fine = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.Hardswish())
        self.coarse = nn.Sequential(nn.Conv2D(8, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8), nn.Silu())
        self.up = nn.Conv2DTranspose(8, 8, 2, stride=2)
        self.out = nn.Conv2D(16, 5, 1)

    def forward(self, x):
        fine = self.fine(x)
        coarse = self.coarse(fine)
        wide = nn.functional.interpolate(coarse, size=(16, 16), mode="nearest")
        return nn.functional.softmax(self.out(paddle.concat([fine, self.up(coarse) + wide], 1)), axis=1)


def networks():
    """name, network, shape and dtype of its input; the first size is open"""
    vision = paddle.vision.models
    yield "lenet", vision.LeNet(), (2, 1, 28, 28), "float32"
    for name in ("resnet18", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_25"):
        yield name, getattr(vision, name)(), (2, 3, 64, 64), "float32"
    yield "detector", Detector(), (2, 3, 16, 16), "float32"
    for name, kind in (("gru", nn.GRU), ("lstm", nn.LSTM)):
        yield name, Words(kind), (2, 7), "int64"
    yield "encoder", Encoder(), (2, 7), "int64"


def write(folder, name, network, shape, dtype):
    network.eval()
    with tempfile.TemporaryDirectory() as work:
        spec = InputSpec([None, *shape[1:]], dtype, "x")
        paddle.jit.save(network, f"{work}/model", [spec])
        program = next(path for path in pathlib.Path(work).iterdir() if path.suffix in (".json", ".pdmodel"))
        paddle2onnx.export(str(program), f"{work}/model.pdiparams", f"{work}/model.onnx", opset_version=15,
                           enable_onnx_checker=False)
        content = pathlib.Path(f"{work}/model.onnx").read_bytes()
    random = np.random.default_rng(1)
    x = random.integers(0, 30, shape) if dtype == "int64" else random.random(shape, "f4")
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"x": x})
    np.testing.assert_allclose(outputs[0], network(paddle.to_tensor(x)).numpy(), rtol=1e-3, atol=1e-4)
    case = folder / name
    case.mkdir(parents=True)
    (case / "model.onnx").write_bytes(content)
    largest = max(float(np.abs(y).max()) for y in outputs)
    lines = [f"1e-4 {1e-4 * largest} 0", "in x tensor in.pb"]
    (case / "in.pb").write_bytes(onnx.numpy_helper.from_array(x).SerializeToString())
    for i, y in enumerate(outputs):
        (case / f"out_{i}.pb").write_bytes(onnx.numpy_helper.from_array(y).SerializeToString())
        lines.append(f"out y{i} tensor out_{i}.pb")
    (case / "case.txt").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    paddle.seed(1)
    failed = 0
    for name, network, shape, dtype in networks():
        try:
            write(arguments.folder, name, network, shape, dtype)
        except (Exception, SystemExit) as error:  # noqa: BLE001  what paddle2onnx lacks
            print(f"not exported: {name}: {(str(error).strip() or repr(error)).splitlines()[0][:150]}")
            failed += 1
    print(f"{failed} exports failed")


if __name__ == "__main__":
    sys.exit(main())
