"""Measures PaddlePaddle's training step: paddle_case.py CASE THREADS SECONDS VARIANT.

CASE is a case of train_case.cc. VARIANT is dygraph (eager), jit (to_static network, eager
optimizer), or a variant of paddle_sequences.py. Prints one JSON line.
"""

import sys

import paddle
from paddle import nn
from paddle.nn import functional as F

import paddle_sequences as sequences
from batches import DEEPFM_FIELDS, DEEPFM_ROWS, batches, measure, numbers


class BasicBlock(nn.Layer):
    """A block of He et al. 2015 whose shortcut pads channels with zeros."""

    def __init__(self, inside, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2D(inside, channels, 3, stride, 1, bias_attr=False)
        self.norm1 = nn.BatchNorm2D(channels)
        self.conv2 = nn.Conv2D(channels, channels, 3, 1, 1, bias_attr=False)
        self.norm2 = nn.BatchNorm2D(channels)
        self.stride, self.more = stride, channels - inside

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.more:
            rows = x[:, :, ::self.stride, ::self.stride]
            x = paddle.concat([rows, paddle.zeros_like(rows)[:, :self.more]], 1)
        return F.relu(y + x)


def resnet20():
    blocks, inside = [], 16
    for stage, channels in enumerate((16, 32, 64)):
        for i in range(3):
            blocks.append(BasicBlock(inside, channels, 2 if i == 0 and stage else 1))
            inside = channels
    return nn.Sequential(
        nn.Conv2D(3, 16, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(16), nn.ReLU(), *blocks,
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, 10))


class Transformer(nn.Layer):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(256, 8, 1024, 0.1, normalize_before=True)
        self.encoder = nn.TransformerEncoder(layer, 4, nn.LayerNorm(256))
        self.logits = nn.Linear(256, 10)

    def forward(self, x):
        return self.logits(self.encoder(x).mean(1))


class DeepFm(nn.Layer):
    def __init__(self):
        super().__init__()
        normal = paddle.ParamAttr(initializer=nn.initializer.Normal(0, 0.05))
        zeros = paddle.ParamAttr(initializer=nn.initializer.Constant(0))
        self.vectors = nn.Embedding(DEEPFM_ROWS, 16, sparse=True, weight_attr=normal)
        self.weights = nn.Embedding(DEEPFM_ROWS, 1, sparse=True, weight_attr=zeros)
        self.deep = nn.Sequential(nn.Linear(DEEPFM_FIELDS * 16, 100), nn.ReLU(),
                                  nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 1))

    def forward(self, ids):
        vectors = self.vectors(ids)
        total = vectors.sum(1)
        pairs = (total * total - (vectors * vectors).sum(1)).sum(1, keepdim=True) * 0.5
        return self.weights(ids).sum(1) + pairs + self.deep(vectors.flatten(1))


def network_step(case, variant):
    data = [tuple(paddle.to_tensor(a) for a in batch) for batch in batches(case)]
    net = {"resnet20": resnet20, "transformer": Transformer, "deepfm": DeepFm}[case]()
    parameters = net.parameters()
    if case == "resnet20":
        optimizer = paddle.optimizer.Momentum(0.05, 0.9, parameters, weight_decay=1e-4,
                                              use_multi_tensor=True)
    elif case == "transformer":
        optimizer = paddle.optimizer.Adam(1e-4, parameters=parameters, use_multi_tensor=True)
    else:
        optimizer = paddle.optimizer.Adam(1e-3, parameters=parameters, lazy_mode=True)
    loss_of_logits = F.binary_cross_entropy_with_logits if case == "deepfm" else F.cross_entropy
    if variant == "jit":
        net = paddle.jit.to_static(net, full_graph=True)

    def step(i):
        x, y = data[i]
        loss = loss_of_logits(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return step, len(data)


def elementwise_step():
    x = paddle.randn([1_000_000])
    x.stop_gradient = False

    def step(_):
        a = F.sigmoid(x * 1.5 + 0.25)
        b = F.relu(a * x - 0.5) + x
        c = paddle.tanh(b)
        loss = ((c * c + a) * x - b).sum()
        loss.backward()
        x.clear_gradient(set_to_zero=False)
        return loss

    return step, 1


def resnet18_shapes():
    """The shapes of the parameters, in PyTorch's order."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    inside = 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        for i in range(2):
            shapes += [(channels, inside, 3, 3), (channels,), (channels,)]
            shapes += [(channels, channels, 3, 3), (channels,), (channels,)]
            if stage > 0 and i == 0:
                shapes += [(channels, inside, 1, 1), (channels,), (channels,)]
            inside = channels
    return shapes + [(1000, 512), (1000,)]


def adam_step():
    half = nn.initializer.Constant(0.5)
    parameters = [paddle.create_parameter(list(shape), "float32", default_initializer=half)
                  for shape in resnet18_shapes()]
    for i, p in enumerate(parameters):
        p.grad = paddle.to_tensor(numbers(tuple(p.shape), i))
    optimizer = paddle.optimizer.Adam(1e-3, parameters=parameters, use_multi_tensor=True)

    def step(_):
        optimizer.step()

    return step, 1


def main():
    case, threads, seconds, variant = sys.argv[1:5]
    paddle.set_device("cpu")
    paddle.seed(1)
    if case == "elementwise":
        step, count = elementwise_step()
    elif case == "adam":
        step, count = adam_step()
    elif case in sequences.CASES:
        step, count = sequences.make_step(case, variant)
    else:
        step, count = network_step(case, variant)
    measure(f"paddle {paddle.__version__} {variant}", case, int(threads), float(seconds), step,
            count)


main()
