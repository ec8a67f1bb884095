"""Formulas for functions that PyTorch lacks, or whose formula there loses digits or has kinks."""

import math

import torch
import torch.nn.functional as F


def softplus(x):
    return F.softplus(x, threshold=40)


def gelu(x):
    """PyTorch's 1 + erf(x) loses all digits for large negative x."""
    return x * 0.5 * torch.special.erfc(-x / math.sqrt(2))


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
    d = torch.linalg.vector_norm(a - b, dim=1)
    return torch.where(similar == 1, d**2 / 2, F.relu(margin - d) ** 2 / 2)


def cosine_embedding(a, b, similar):
    cosine = F.cosine_similarity(a, b, dim=1, eps=1e-8)
    return torch.where(similar == 1, 1 - cosine, F.relu(cosine))


def dice(p, t, smooth=1.0):
    return 1 - (2 * (p * t).sum(1) + smooth) / (p.sum(1) + t.sum(1) + smooth)
