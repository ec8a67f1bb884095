"""Formulas for functions that PyTorch lacks, or whose formula there loses digits or has kinks."""

import math

import torch
import torch.nn.functional as F


def softplus(x):
    return F.softplus(x, threshold=40)


def elu(x):
    """PyTorch's exp(x) - 1 loses digits near 0."""
    negative = torch.where(x > 0, torch.zeros_like(x), x)
    return torch.where(x > 0, x, torch.expm1(negative))


def gelu(x):
    """PyTorch's 1 + erf(x) loses all digits for large negative x."""
    return x * 0.5 * torch.special.erfc(-x / math.sqrt(2))


def gelu_tanh(x):
    """PyTorch's 1 + tanh(z) loses digits as well."""
    return x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def hard_swish(x):
    return x * (F.relu6(x + 3) / 6)


def binary_cross_entropy(x, target):
    """Of targets from 0 to 1. PyTorch's formula loses small losses, and is NaN at infinity."""
    return target * softplus(-x) + (1 - target) * softplus(x)


def focal(x, target, gamma=2.0, alpha=0.25):
    z = (2 * target - 1) * x
    weight = target * alpha + (1 - target) * (1 - alpha)
    return weight * torch.exp(-gamma * softplus(z)) * softplus(-z)


def focal_cross_entropy(logits, label, gamma=2.0):
    loss = F.cross_entropy(logits, label, reduction="none")
    return (-torch.expm1(-loss)) ** gamma * loss


def normalized(x):
    """instance_norm of one channel; PyTorch's refuses a single element."""
    centered = x - x.mean(1, keepdim=True)
    return centered / torch.sqrt((centered**2).mean(1, keepdim=True) + 1e-5)


def contrastive(a, b, similar, margin=1.0):
    square = ((a - b) ** 2).sum(1)
    shortfall = F.relu(margin - torch.sqrt(square.clamp(min=1e-30)))
    return (similar * square + (1 - similar) * shortfall**2) / 2


def dice(p, t, smooth=1.0):
    return 1 - (2 * (p * t).sum(1) + smooth) / (p.sum(1) + t.sum(1) + smooth)
