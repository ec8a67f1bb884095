"""Networks of train_case.cc and predict_case.cc in PyTorch, with parameters in the same order."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from batches import DEEPFM_FIELDS, DEEPFM_ROWS


class BasicBlock(nn.Module):
    """A block of He et al. 2015; its shortcut pads channels (option A) or projects (option B)."""

    def __init__(self, inside, channels, stride, project):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.stride, self.more, self.shortcut = stride, channels - inside, None
        if project and self.more:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, channels, 1, stride, bias=False),
                                          nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.shortcut is not None:
            x = self.shortcut(x)
        elif self.more:
            x = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(y + x)


def stages(channels, widths, depths, project):
    blocks = []
    for stage, (width, depth) in enumerate(zip(widths, depths)):
        for i in range(depth):
            blocks.append(BasicBlock(channels, width, 2 if i == 0 and stage else 1, project))
            channels = width
    return blocks


def resnet20():
    return initialize(nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        *stages(16, (16, 32, 64), (3, 3, 3), False),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)))


def resnet18():
    return initialize(nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *stages(64, (64, 128, 256, 512), (2, 2, 2, 2), True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))


def initialize(net):
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    return net


class Transformer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, nn.LayerNorm(256),
                                             enable_nested_tensor=False)
        self.logits = nn.Linear(256, 10)

    def forward(self, x):
        return self.logits(self.encoder(x).mean(1))


class DeepFm(nn.Module):
    """DeepFM (Guo et al. 2017) with row-sparse gradients of both tables."""

    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(DEEPFM_ROWS, 16, sparse=True)
        self.weights = nn.Embedding(DEEPFM_ROWS, 1, sparse=True)
        nn.init.normal_(self.vectors.weight, std=0.05)
        nn.init.zeros_(self.weights.weight)
        self.deep = nn.Sequential(nn.Linear(DEEPFM_FIELDS * 16, 100), nn.ReLU(),
                                  nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 1))

    def dense(self, vectors, weights):
        total = vectors.sum(1)
        pairs = (total * total - (vectors * vectors).sum(1)).sum(1, keepdim=True) * 0.5
        return weights.sum(1) + pairs + self.deep(vectors.flatten(1))

    def forward(self, ids):
        return self.dense(self.vectors(ids), self.weights(ids))


def chain(x):
    a = torch.sigmoid(x * 1.5 + 0.25)
    b = torch.relu(a * x - 0.5) + x
    c = torch.tanh(b)
    return (c * c + a) * x - b


def ours(folder):
    """Loads the parameters that train_case or predict_case saved: name to array."""
    from safetensors.numpy import load_file
    return {name: array for name, array in load_file(f"{folder}/weights.safetensors").items()}


def copy_in_order(net, weights, names):
    """Copies Trireme's parameters `names` into those of net, in order. Matrices of linear layers
    are [in, out] in Trireme and [out, in] in PyTorch."""
    layers = [(module, kind) for module in net.modules()
              for kind, _ in module.named_parameters(recurse=False)]
    if len(layers) != len(names):
        raise ValueError(f"{len(layers)} parameters in PyTorch, {len(names)} in Trireme")
    with torch.no_grad():
        for (module, kind), name in zip(layers, names):
            array = weights[name]
            if isinstance(module, nn.Linear) and array.ndim == 2:
                array = array.T
            parameter = getattr(module, kind)
            if tuple(parameter.shape) != array.shape:
                raise ValueError(f"{name}: {array.shape} in Trireme, {tuple(parameter.shape)} in "
                                 "PyTorch")
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))


def copy_transformer(net, weights):
    def put(parameter, array):
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))

    def layer(module, prefix):
        put(module.weight, weights[prefix + ".weight"].T)
        put(module.bias, weights[prefix + ".bias"])

    for i, block in enumerate(net.encoder.layers):
        prefix = f"transformer_encoder_0/block_{i}/"
        part = [prefix + f"attention/{name}" for name in ("query", "key", "value")]
        put(block.self_attn.in_proj_weight,
            np.concatenate([weights[p + ".weight"].T for p in part]))
        put(block.self_attn.in_proj_bias,
            np.concatenate([weights.get(p + ".bias", np.zeros(256, np.float32)) for p in part]))
        layer(block.self_attn.out_proj, prefix + "attention/out")
        layer(block.norm1, prefix + "attention_norm")
        layer(block.norm2, prefix + "feed_forward_norm")
        layer(block.linear1, prefix + "feed_forward_in")
        layer(block.linear2, prefix + "feed_forward_out")
    layer(net.encoder.norm, "transformer_encoder_0/final_norm")
    layer(net.logits, "linear_0")
