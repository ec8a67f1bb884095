"""Formulas for functions that PyTorch lacks, or whose formula there loses digits or has kinks."""

import fractions
import math

import numpy
import torch
import torch.nn.functional as F


def softplus(x):
    return F.softplus(x, threshold=40)


def stddev(x):
    """Its gradient is 0 where it is 0."""
    centered = x - x.mean(1, keepdim=True)
    return torch.linalg.vector_norm(centered, dim=1) / math.sqrt(x.shape[1])


def vector_norm(x, p):
    return torch.linalg.vector_norm(x, p, dim=1)


def cumprod(x):
    """By products, since PyTorch's gradient divides."""
    parts = [x[:, 0]]
    for i in range(1, x.shape[1]):
        parts.append(parts[-1] * x[:, i])
    return torch.stack(parts, 1)


def logsumexp(x):
    """Its gradient is the softmax, and 0 where it is not finite."""
    y = torch.logsumexp(x.detach(), 1)
    finite = torch.where(y.isfinite()[:, None], x, torch.zeros_like(x))
    largest = finite.detach().amax(1) if x.shape[1] else y
    sums = torch.exp(finite - largest[:, None]).sum(1)
    return torch.where(y.isfinite(), torch.log(sums) + largest, y)


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


def pooled_and_unpooled(x):
    """Maxima of windows of three, which overlap, and their positions. Then a row of zeros with
    these maxima at their positions, the mean where several windows have one."""
    maxima, places = x.unfold(1, 3, 1).max(2)
    places = places + torch.arange(places.shape[1])
    counts = torch.zeros_like(x).scatter_add(1, places, torch.ones_like(maxima))
    parts = maxima / counts.gather(1, places)
    return [maxima, places, torch.zeros_like(x).scatter_add(1, places, parts)]


def rotary(x):
    """Su et al. 2021: two steps of one pair of columns; step 1 turns it by an angle of 1."""
    a, b = x[:, 0::2], x[:, 1::2]
    angle = torch.tensor([0.0, 1.0], dtype=torch.float64).to(x)
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([a * c - b * s, a * s + b * c], 2).flatten(1)


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


def blockwise_attention(query, key, value=None, used=None, causal=False):
    """The keys are the values unless these are given. Without any key, or with scores of -inf only,
    0."""
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[2])
    allowed = torch.ones_like(scores, dtype=torch.bool)
    allowed = allowed.tril() if causal else allowed
    allowed = allowed if used is None else allowed & used[:, None]
    scores = torch.where(allowed, scores, torch.full_like(scores, -math.inf))
    none = (scores == -math.inf).all(2, keepdim=True)
    weights = F.softmax(torch.where(none, torch.zeros_like(scores), scores), 2)
    weights = torch.where(none, torch.zeros_like(weights), weights)
    return (weights @ (key if value is None else value)).flatten(1)


def finite_lines(y, *x):
    """The results y of lines x, or NaN for a line with an element that is not finite. The gradient
    stays that of y."""
    finite = torch.stack([part.detach().flatten(1).isfinite().all(1) for part in x]).all(0)
    return y + torch.where(finite, 0.0, math.nan).to(y)[:, None]


def fourier(name, x, is_complex, rows=None, **options):
    """A transform of torch.fft of lines of real numbers, or of pairs that are complex numbers; or
    of planes with this number of rows."""
    line = torch.view_as_complex(x.reshape(len(x), -1, 2).contiguous()) if is_complex else x
    line = line.reshape(len(x), rows, -1) if rows else line
    y = getattr(torch.fft, name)(line, **options)
    y = torch.view_as_real(y) if y.is_complex() else y
    return finite_lines(y.flatten(1), x)


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


REFUSED = -77.0  # instead of numbers: Trireme reports wrong data; kRefused


class Singular(Exception):
    """A matrix that Trireme refuses. `y` is what it returns nevertheless, without a gradient."""

    def __init__(self, y=None):
        super().__init__()
        self.y = y


def _one_matrix(function, row, columns):
    """Returns results and gradients of a matrix, and of a column after it."""
    leaves = [row[0].reshape(-1, columns)] + [part.reshape(-1, 1) for part in row[1:]]
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    try:
        y = function(*leaves)
    except Singular as error:
        y, leaves = error.y, None
    y = y if isinstance(y, (tuple, list)) else [y]
    loss = 0
    if leaves is None:
        return y, None
    for part in y:
        weight = (1 + 0.5 * (torch.arange(part.numel()) % 3)).to(part).reshape(part.shape)
        loss = loss + (part * weight).sum()
    return [part.detach() for part in y], torch.autograd.grad(loss, leaves)


def matrices(function, *x, columns=2):
    """Each row of x[0] is a matrix. Returns the results of the function, and the gradients of their
    sum with weights 1, 1.5 and 2, in turns. REFUSED where there are none, which y None of Singular
    means for the results."""
    rows = [_one_matrix(function, row, columns) for row in zip(*x)]
    shapes = next([part.shape for part in y] for y, _ in rows if y[0] is not None)
    results = [[torch.full(shape, REFUSED) if y[0] is None else y[i] for y, _ in rows]
               for i, shape in enumerate(shapes)]
    slopes = [[torch.full_like(row, REFUSED) if s is None else s[i] for row, (_, s) in zip(part, rows)]
              for i, part in enumerate(x)]
    stacks = [torch.stack([part.reshape(-1).to(x[0]) for part in column])
              for column in results + slopes]
    return stacks


def _finite(*x):
    return all(part.isfinite().all() for part in x)


def _is_singular(a):
    """Exactly, for the matrices of functions_matrices.cc."""
    (p, q), (r, s) = (map(fractions.Fraction, row) for row in a.tolist())
    return p * s == q * r


def solve(a, b):
    if not _finite(a):
        return math.nan * (a.sum() + b)
    if _is_singular(a):
        raise Singular() if _finite(b) else Singular(math.nan * b)
    if not _finite(b):  # the gradient of b does not depend on it
        return torch.linalg.solve(a.detach(), b - b.detach()) + math.nan * a.sum()
    return torch.linalg.solve(a, b)


def inverse(a):
    return solve(a, torch.eye(2).to(a))


def det(a):
    if not _finite(a):
        return math.nan * a.sum()
    if _is_singular(a):
        raise Singular(torch.zeros(()))
    return torch.linalg.det(a)


def slogdet(a):
    if not _finite(a):
        return [math.nan * a.sum()] * 2
    if _is_singular(a):
        raise Singular([torch.zeros(()), torch.tensor(-math.inf)])
    return list(torch.linalg.slogdet(a))


def cholesky(a):
    symmetric = a / 2 + a.T / 2
    if not _finite(a) or (torch.linalg.eigvalsh(symmetric.detach().double()) <= 0).any():
        raise Singular()
    return torch.linalg.cholesky(symmetric)


def _largest_positive(vectors):
    return torch.take_along_dim(vectors, vectors.abs().argmax(0, keepdim=True), 0).sign().detach()


def eigh(a):
    if not _finite(a):
        return [math.nan * a[0], math.nan * a]
    values, vectors = torch.linalg.eigh(a / 2 + a.T / 2)
    return [values, vectors * _largest_positive(vectors)]


def qr(a):
    if not _finite(a):
        return [math.nan * a, math.nan * a[:a.shape[1]]]
    q, r = torch.linalg.qr(a)
    signs = torch.where(r.diagonal() < 0, -1.0, 1.0).to(a)
    parts = [q * signs, r * signs[:, None]]
    if (r.diagonal() == 0).any():
        raise Singular([part.detach() for part in parts])
    return parts


def svd(a):
    if not _finite(a):
        parts = torch.linalg.svd(torch.ones_like(a), full_matrices=False)
        return [part + math.nan * a.sum() for part in parts]
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    signs = _largest_positive(u)
    return [u * signs, s, vh * signs.T]


def weight_norm(v):
    """Of columns, with length 1. Columns of zeros stay so."""
    zero = (v.detach() == 0).all(0)
    size = torch.linalg.vector_norm(torch.where(zero, torch.ones_like(v), v), dim=0)
    return v * torch.where(zero, torch.zeros_like(size), 1 / size)


def spectral_norm(w):
    if not _finite(w):
        return math.nan * w
    return w / torch.linalg.matrix_norm(w, 2).clamp(min=1e-12)


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
