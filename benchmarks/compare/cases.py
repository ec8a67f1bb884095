"""The cases: contestants, goals and the minimum work of a step.

Work is counted by hand, not by a contestant. `flops` are the multiplications and additions of
matrix products and convolutions only; training counts three times those of the forward pass.
`moved` is the minimum number of bytes read and written. The machine's limit for a step is the
larger of flops / peak and moved / peak.
"""

import os
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIN = os.path.join(ROOT, "build/release/bin")


@dataclass
class Contestant:
    who: str      # trireme, torch, paddle, onnxruntime or openvino
    variant: str  # "" for Trireme
    group: str    # ours, eager, compile (torch.compile), static (other compiled forms), runtime,
                  # padded, packed, loop, or layer: another case of Trireme
    command: list  # takes CASE THREADS SECONDS, then `more`
    more: list
    case: str = ""  # the program's case, if it differs from that of the other contestants

    def line(self, case, threads, seconds):
        return self.command + [self.case or case, str(threads), str(seconds)] + self.more

    @property
    def title(self):
        return f"{self.who} {self.variant}".strip()


@dataclass
class Case:
    name: str
    title: str
    program_case: str  # the name of the case in the programs
    contestants: list
    goals: dict        # group, or "any" for all peers: required speed over the fastest of the group
    flops: float = 0
    moved: float = 0


def linear_macs(*widths):
    return sum(a * b for a, b in zip(widths, widths[1:]))


def conv_macs(inside, channels, kernel, size):
    return inside * channels * kernel * kernel * size * size


def resnet20_macs():
    stage = [conv_macs(c, c, 3, s) for c, s in ((16, 32), (32, 16), (64, 8))]
    first = [conv_macs(3, 16, 3, 32), conv_macs(16, 32, 3, 16), conv_macs(32, 64, 3, 8)]
    return sum(first) + 6 * stage[0] + 5 * stage[1] + 5 * stage[2] + 640


def resnet18_macs():
    total = conv_macs(3, 64, 7, 112) + 4 * conv_macs(64, 64, 3, 56) + 512 * 1000
    for channels, size in ((128, 28), (256, 14), (512, 7)):
        half = channels // 2
        total += conv_macs(half, channels, 3, size) + 3 * conv_macs(channels, channels, 3, size)
        total += conv_macs(half, channels, 1, size)
    return total


def training(macs, batch):
    return 3 * 2 * macs * batch


def peers(script, who, variants):
    groups = {"dygraph": "eager", "jit": "static", "onnxruntime": "runtime", "openvino": "runtime",
              "masked": "padded"}
    return [Contestant(who or v, v if who else "", groups.get(v, v.split("-")[0]),
                       [sys.executable, os.path.join(HERE, script)], [v]) for v in variants]


def ours(program):
    return [Contestant("trireme", "", "ours", [os.path.join(BIN, program)], [])]


def trained(name, title, torch_variants, paddle_variants, goals, more=(), **work):
    contestants = (ours("train_case") + peers("torch_case.py", "torch", torch_variants)
                   + peers("paddle_case.py", "paddle", paddle_variants) + list(more))
    return Case(name, title, name, contestants, goals, **work)


def fashion(name, title, torch_variants, goal, macs):
    contestants = (ours("train_step") + peers("peer_torch.py", "torch", torch_variants)
                   + peers("peer_paddle.py", "paddle", ["dygraph", "jit", "static"]))
    return Case(name + "_fashion", title, name, contestants, {"any": goal},
                flops=training(macs, 64))


def predicted(name, title, program_case, goal, **work):
    contestants = ours("predict_case") + peers("predict_onnx.py", "", ["onnxruntime", "openvino"])
    return Case(name, title, program_case, contestants, {"runtime": goal}, **work)


ADAM_PARAMETERS = 11_689_512       # parameters of ResNet-18 for 1000 classes
DEEPFM_ROWS_TOUCHED = 12_296       # distinct ids per batch, on average
TRANSFORMER_MACS = 4 * (4 * 256 * 256 + 2 * 256 * 1024 + 2 * 64 * 256)  # per position
# Multiply-adds of the sequence cases, for the mean number of words in their batches.
LSTM_MACS = 4 * 128 * 256           # per word
SENTIMENT_WORDS, DOCUMENT_WORDS, DOCUMENT_SENTENCES = 64 * 105, 16 * 16.5 * 21.5, 16 * 16.5
TRANSLATION_WORDS = 32 * 35         # of each language
ENCODER_MACS = 3 * 256 * 512 + 256 * 256
# Per target word: query, cell, logits; scores and contexts over the 35 source words.
DECODER_MACS = 256 * 256 + 3 * 256 * 768 + 256 * 2000 + 35 * 2 * 256
LAYER = Contestant("trireme", "nn::lstm", "layer", [os.path.join(BIN, "train_case")], [],
                   case="sentiment")
IMAGE_VARIANTS = ["eager", "eager-cl", "compile", "compile-cl"]
PLAIN_VARIANTS = ["eager", "compile"]

CASES = {case.name: case for case in [
    trained("resnet20", "ResNet-20 training", IMAGE_VARIANTS, ["dygraph", "jit"],
            {"eager": 1.3, "compile": 1.0}, flops=training(resnet20_macs(), 128)),
    trained("transformer", "Transformer training", PLAIN_VARIANTS, ["dygraph", "jit"],
            {"eager": 1.2, "compile": 1.0}, flops=training(TRANSFORMER_MACS, 16 * 64)),
    # Forward reads each row once; the update reads and writes the row and its two moments.
    trained("deepfm", "DeepFM training", PLAIN_VARIANTS, ["dygraph", "jit"],
            {"eager": 1.8, "compile": 1.0},
            flops=training(linear_macs(26 * 16, 100, 50, 1), 512),
            moved=DEEPFM_ROWS_TOUCHED * 17 * 4 * 7),
    trained("elementwise", "12 elementwise ops with gradient", PLAIN_VARIANTS, ["dygraph"],
            {"eager": 8.0, "compile": 1.0}, moved=2 * 4e6),
    trained("adam", "Adam, 11.7M parameters", PLAIN_VARIANTS, ["dygraph"],
            {"eager": 1.5, "compile": 1.0}, moved=ADAM_PARAMETERS * 7 * 4),
    predicted("resnet18_predict", "ResNet-18 prediction", "resnet18", 0.95,
              flops=2 * resnet18_macs()),
    predicted("mlp_predict", "MLP prediction", "mlp", 1.5,
              flops=2 * linear_macs(784, 512, 512, 10), moved=4 * linear_macs(784, 512, 512, 10)),
    fashion("mlp", "MLP 784-200-200-10 training", PLAIN_VARIANTS, 1.5,
            linear_macs(784, 200, 200, 10)),
    fashion("lenet", "LeNet training", IMAGE_VARIANTS, 2.0,
            conv_macs(1, 6, 5, 28) + conv_macs(6, 16, 5, 10) + linear_macs(400, 120, 84, 10)),
    trained("sentiment", "Sentiment LSTM training", ["padded", "packed"],
            ["padded", "masked", "padded-jit"], {"any": 2.5},
            flops=training(LSTM_MACS, SENTIMENT_WORDS)),
    trained("own_lstm", "Custom LSTM step, training", ["loop", "loop-compile"], ["loop"],
            {"layer": 0.95, "loop": 5.0}, [LAYER], flops=training(LSTM_MACS, SENTIMENT_WORDS)),
    trained("translation", "GRU translation with attention, training",
            ["padded", "packed", "padded-compile"], ["padded", "masked"], {"any": 2.0},
            flops=training(ENCODER_MACS + DECODER_MACS, TRANSLATION_WORDS)),
    trained("documents", "Document training, LSTMs over words and sentences", ["padded", "packed"],
            ["padded", "masked"], {"any": 3.0},
            flops=training(LSTM_MACS, DOCUMENT_WORDS + DOCUMENT_SENTENCES)),
]}
