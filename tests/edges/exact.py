"""Formulas for functions that PyTorch lacks, or whose formula there loses digits or has kinks."""

import math

import numpy
import torch
import torch.nn.functional as F


def softplus(x):
    return F.softplus(x, threshold=40)


def elu(x):
    """PyTorch's exp(x) - 1 loses digits near 0."""
    negative = torch.where(x > 0, torch.zeros_like(x), x)
    return torch.where(x > 0, x, torch.expm1(negative))


def selu(x):
    negative = torch.where(x > 0, torch.zeros_like(x), x)
    y = torch.where(x > 0, x, 1.6732632423543772 * torch.expm1(negative))
    return 1.0507009873554805 * y


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


def multi_label_margin(x, target):
    """PyTorch's takes the labels of each row, followed by -1."""
    width = x.shape[1]
    labels = [F.pad(row.nonzero()[:, 0], (0, width - int(row.sum())), value=-1) for row in target]
    return F.multilabel_margin_loss(x, torch.stack(labels), reduction="none")


def lp_pool(x):
    """The norms of pairs, whose gradient is 0 where both are 0."""
    pairs = x[:, :x.shape[1] // 2 * 2].reshape(len(x), -1, 2)
    return torch.linalg.vector_norm(pairs, dim=2)


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


def weights(*shape):
    """The numbers of weights() in functions_layers.cc."""
    cycle = torch.tensor([0, 1, -1, 0.5, 2, -0.25, 0], dtype=torch.float64)
    return cycle[torch.arange(math.prod(shape)) % len(cycle)].reshape(shape)


def maxima_of_bins(x, bins):
    """Like adaptive pooling, but equal elements share the gradient."""
    size = x.shape[1]
    ends = [(i * size // bins, -(-(i + 1) * size // bins)) for i in range(bins)]
    return torch.stack([x[:, begin:end].amax(1) for begin, end in ends], 1)


def attention(query, key, mask):
    """The keys are the values too. A mask of numbers is added. Without any key, the mean of all."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[2])
    none = torch.full_like(scores, -1e30)
    allowed = mask if mask.dtype == torch.bool else ~(scores + mask < none)
    scores = scores if mask.dtype == torch.bool else scores + mask
    return (F.softmax(torch.where(allowed, scores, none), 2) @ key).flatten(1)


def batch_norm(x):
    """Each row is a batch of one channel. Returns the results in training, and the running mean and
    variance after it. PyTorch's refuses a single element."""
    mean = x.mean(1, keepdim=True)
    variance = ((x - mean) ** 2).mean(1, keepdim=True)
    unbiased = variance * (x.shape[1] / max(x.shape[1] - 1, 1))
    running = torch.cat([0.1 * mean, 0.9 + 0.1 * unbiased], 1)
    return [(x - mean) / torch.sqrt(variance + 1e-5), running]


def first_largest(x):
    """Of equal elements the first; NaN counts as larger than every number."""
    return x[int(numpy.argmax(x.detach().numpy()))]


# The weights of up to four gates, as set_parameters() in functions_sequences.cc has them.
WEIGHT, RECURRENT, BIAS, RECURRENT_BIAS = ((1, -0.5, 2, 0.5), (0.5, 1, -1, 2),
                                           (0, 0.125, -0.25, 0.375), 0.75)


def simple_rnn(x):
    h, states = torch.zeros_like(x[:1]), [x[:0]]
    for i in range(len(x)):
        h = torch.tanh(x[i:i + 1] * WEIGHT[0] + h * RECURRENT[0] + BIAS[0])
        states.append(h)
    return torch.cat(states)


def gru(x):
    h, states = torch.zeros_like(x[:1]), [x[:0]]
    for i in range(len(x)):
        r, z, n = (x[i:i + 1] * WEIGHT[k] + BIAS[k] for k in range(3))
        r, z = torch.sigmoid(r + h * RECURRENT[0]), torch.sigmoid(z + h * RECURRENT[1])
        n = torch.tanh(n + r * (h * RECURRENT[2] + RECURRENT_BIAS))
        h = (1 - z) * n + z * h
        states.append(h)
    return torch.cat(states)


def lstm(x):
    h, cell, states = torch.zeros_like(x[:1]), torch.zeros_like(x[:1]), [x[:0]]
    for i in range(len(x)):
        a, f, g, o = (x[i:i + 1] * WEIGHT[k] + h * RECURRENT[k] + BIAS[k] for k in range(4))
        cell = torch.sigmoid(f + 1) * cell + torch.sigmoid(a) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(cell)
        states.append(h)
    return torch.cat(states)


SEQUENCES = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.sum() / max(len(x), 1),
    "sqrt_n": lambda x: x.sum() / math.sqrt(max(len(x), 1)),
    "max": lambda x: first_largest(x) if len(x) else x.sum(),
    "min": lambda x: -first_largest(-x) if len(x) else x.sum(),
    "first": lambda x: x[0] if len(x) else x.sum(),
    "last": lambda x: x[-1] if len(x) else x.sum(),
    "softmax": lambda x: F.softmax(x, 0),
    "reverse": lambda x: x.flip(0),
    "simple_rnn": simple_rnn, "gru": gru, "lstm": lstm,
    "top_k": lambda x: F.pad(x.sort(descending=True, stable=True)[0][:2], (0, max(2 - len(x), 0))),
}


def sequences(name, x, cuts):
    """Each row is three sequences, cut at two places. Returns the results of a function of each
    sequence, and the gradient of their sum with weights 1, 1.5 and 2, in turns."""
    function, results = SEQUENCES[name], []
    x = x.clone().requires_grad_()
    for row, (a, b) in zip(x, cuts.tolist()):
        parts = row[:a], row[a:b], row[b:]
        results.append(torch.cat([function(part).reshape(-1) for part in parts]))
    results = torch.stack(results)
    loss = results * (1 + 0.5 * (torch.arange(results.numel()).reshape(results.shape) % 3))
    return [results.detach(), torch.autograd.grad(loss.sum(), x)[0]]


def tables(function, x, indices):
    """Each row is a table. Returns the results of the function of table and indices, and the
    gradient of their sum with weights 1, 1.5 and 2, in turns."""
    results, gradients = [], []
    for row, index in zip(x, indices):
        table = row.clone().requires_grad_()
        y = function(table, index).reshape(-1)
        loss = (y * (1 + 0.5 * (torch.arange(len(y)) % 3))).sum()
        results.append(y.detach())
        gradients.append(torch.autograd.grad(loss, table)[0])
    return [torch.stack(results), torch.stack(gradients)]


def gather(x, indices):
    """Indices below 0 read the first row, without a gradient; those beyond the end the last."""
    rows = x[indices.clamp(0, len(x) - 1)]
    none = (indices < 0).reshape([-1] + [1] * (x.dim() - 1))
    return torch.where(none, rows.detach(), rows)


HIDDEN = (1, -0.5)  # hidden() in functions_tables.cc


def corrected_logits(sampler, table, classes):
    """Of three classes: the logits of a label and of drawn classes, less the logarithm of the
    expected number of times that a class is drawn."""
    logits = table.reshape(3, 2) @ torch.tensor(HIDDEN).to(table)
    k = torch.arange(3, dtype=torch.float64)
    share = torch.full((3,), 1 / 3, dtype=torch.float64)
    if sampler == "log_uniform":
        share = torch.log((k + 2) / (k + 1)) / math.log(4)
    return (logits - torch.log(share * (len(classes) - 1)).to(table))[classes]


def sampled_softmax(sampler):
    """Jean et al. 2015, "On using very large target vocabulary". Drawn labels do not count."""
    def loss(table, classes):
        logits = corrected_logits(sampler, table, classes)
        counts = torch.cat([classes[:1] >= 0, classes[1:] != classes[0]])
        return F.cross_entropy(logits[counts][None], torch.tensor([0]))
    return loss


def nce(sampler):
    """Mnih and Teh 2012, "A fast and simple algorithm for training neural probabilistic language
    models"."""
    def loss(table, classes):
        logits = corrected_logits(sampler, table, classes)
        return softplus(-logits[0]) + softplus(logits[1:]).sum()
    return loss


def hierarchical_softmax(table, label):
    """Morin and Bengio 2005. The classes are leaves 4 to 7 of a heap, whose nodes 1 to 3 have the
    rows of the table."""
    z = table.reshape(3, 2) @ torch.tensor(HIDDEN).to(table)
    node, loss = int(label[0]) + 4, 0
    while node > 1:
        loss = loss + softplus((1 - 2 * (node % 2)) * z[node // 2 - 1])
        node //= 2
    return loss


CTC_LABELS = [[], [1], [1, 1], [1, 1, 2], [2, 1, 2, 2]]  # kLabels in functions_sequences.cc


def ctc_losses(x, which):
    """Each row is a sequence of four rows with logits of three classes. Returns the losses, and the
    gradient of their sum with weights 1, 1.5 and 2, in turns; it is 0 where the loss is
    infinite."""
    x = x.clone().requires_grad_()
    losses, total = [], 0
    for i, (row, k) in enumerate(zip(x, which.tolist())):
        scores = F.log_softmax(row.reshape(4, 1, 3), 2)
        labels = torch.tensor([CTC_LABELS[k]], dtype=torch.int64)
        loss = F.ctc_loss(scores, labels, [4], [labels.shape[1]], reduction="none")[0]
        losses.append(loss.detach())
        if not loss.isinf():
            total = total + loss * (1 + 0.5 * (i % 3))
    gradient = torch.autograd.grad(total, x)[0]
    return [torch.stack(losses), gradient]
