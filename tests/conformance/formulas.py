"""Reference formulas of optimizers, schedules and losses that are too long for one expression.

Optimizers that Debian's PyTorch lacks are written in NumPy from the formulas of their papers.
Each rule takes the parameter, its gradient, the number of the step (from 1) and a dict for its
state. It returns the next parameter.
"""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F


def decayed_adagrad(p, g, t, state, rate, decay=0.95, epsilon=1e-6):
    """PaddlePaddle's definition: Duchi et al. 2011 with a running mean instead of the sum."""
    state["v"] = decay * state.get("v", 0) + (1 - decay) * g**2
    return p - rate * g / (np.sqrt(state["v"]) + epsilon)


def ftrl(p, g, t, state, rate, beta=1.0, l1=0.0, l2=0.0):
    """McMahan et al. 2013, "Ad click prediction: a view from the trenches", algorithm 1."""
    z, n = state.get("z", np.zeros_like(p)), state.get("n", np.zeros_like(p))
    sigma = (np.sqrt(n + g**2) - np.sqrt(n)) / rate
    z, n = z + g - sigma * p, n + g**2
    state["z"], state["n"] = z, n
    return np.where(np.abs(z) <= l1, 0.0,
                    -(z - np.sign(z) * l1) / ((beta + np.sqrt(n)) / rate + l2))


def momentum(p, g, t, state, rate, momentum=0.9, nesterov=False):
    """Polyak 1964, and Sutskever et al. 2013."""
    state["v"] = momentum * state.get("v", 0) + g
    return p - rate * (g + momentum * state["v"] if nesterov else state["v"])


def adam(p, g, t, state, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Kingma and Ba 2015, algorithm 1."""
    state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g**2
    m, v = state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)
    return p - rate * m / (np.sqrt(v) + epsilon)


def lamb(p, g, t, state, rate, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01):
    """You et al. 2020, "Large batch optimization for deep learning", algorithm 2, phi(z) = z."""
    state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g**2
    m, v = state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)
    r = m / (np.sqrt(v) + epsilon) + weight_decay * p
    return p - rate * np.linalg.norm(p) / np.linalg.norm(r) * r


def nadam(p, g, t, state, rate, beta1=0.9, beta2=0.999, epsilon=1e-8, momentum_decay=4e-3):
    """Dozat 2016, "Incorporating Nesterov momentum into Adam", with the momenta of its code."""
    now, then = (beta1 * (1 - 0.5 * 0.96**(s * momentum_decay)) for s in (t, t + 1))
    state["c"] = state.get("c", 1) * now
    state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g**2
    m = then / (1 - state["c"] * then) * rate * state["m"]
    m = m + (1 - now) / (1 - state["c"]) * rate * g
    return p - m / ((state["v"] / (1 - beta2**t))**0.5 + epsilon)


def lars(p, g, t, state, rate, momentum=0.9, trust=1e-3, weight_decay=1e-4):
    """You, Gitman and Ginsburg 2017, "Large batch training of convolutional networks",
    algorithm 1."""
    of_p, of_g = np.linalg.norm(p), np.linalg.norm(g)
    local = trust * of_p / (of_g + weight_decay * of_p)
    state["v"] = momentum * state.get("v", 0) + rate * local * (g + weight_decay * p)
    return p - state["v"]


def adafactor(p, g, t, state, rate, epsilon=1e-3, threshold=1.0, weight_decay=0.0):
    """Shazeer and Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost",
    algorithm 4, with relative step sizes limited by `rate`, and the decay of AdamW."""
    beta = 1 - t**-0.8
    square = g**2 + 1e-30
    state["r"] = beta * state.get("r", 0) + (1 - beta) * square.sum(1)
    state["c"] = beta * state.get("c", 0) + (1 - beta) * square.sum(0)
    u = g / np.sqrt(np.outer(state["r"], state["c"]) / state["r"].sum())
    u = u / np.maximum(1, np.sqrt((u**2).mean()) / threshold)
    alpha = np.maximum(epsilon, np.sqrt((p**2).mean())) * min(rate, t**-0.5)
    return p * (1 - rate * weight_decay) - alpha * u


def muon(p, g, t, state, rate, momentum=0.95, nesterov=True, iterations=5, weight_decay=0.0,
         match_rms_adamw=False):
    """Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks", for weights
    [out, in], as torch.optim.Muon of PyTorch 2.9 has it."""
    w, gradient = p.T, g.T
    state["m"] = momentum * state.get("m", 0) + (1 - momentum) * gradient
    u = (1 - momentum) * gradient + momentum * state["m"] if nesterov else state["m"]
    x = u.T if u.shape[0] > u.shape[1] else u
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(iterations):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    x = x.T if u.shape[0] > u.shape[1] else x
    rows, columns = w.shape
    scale = 0.2 * max(rows, columns)**0.5 if match_rms_adamw else max(1, rows / columns)**0.5
    return (w * (1 - rate * weight_decay) - rate * scale * x).T


def schedule_free(y, g, t, state, rate, beta, weight_decay, warmup):
    """Defazio et al. 2024, "The road less scheduled", as in the authors' code: the average x
    is not stored, and y moves to z."""
    rate = rate * min(1, t / warmup) if warmup else rate
    state["rate"] = max(state.get("rate", 0), rate)
    state["sum"] = state.get("sum", 0) + state["rate"]**2
    share = state["rate"]**2 / state["sum"]
    z = state.get("z", y)
    g = g + weight_decay * y
    y = y + share * (z - y) + rate * (beta * (1 - share) - 1) * g
    state["z"] = z - rate * g
    return y


def schedule_free_sgd(p, g, t, state, rate, momentum=0.9, weight_decay=0.0, warmup=0):
    return schedule_free(p, g, t, state, rate, momentum, weight_decay, warmup)


def schedule_free_adamw(p, g, t, state, rate, beta1=0.9, beta2=0.999, epsilon=1e-8,
                        weight_decay=0.0, warmup=0):
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g**2
    g = g / (np.sqrt(state["v"] / (1 - beta2**t)) + epsilon)
    return schedule_free(p, g, t, state, rate, beta1, weight_decay, warmup)


def lion(p, g, t, state, rate, beta1=0.9, beta2=0.99, weight_decay=0.0):
    """Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2."""
    m = state.get("m", np.zeros_like(p))
    c = beta1 * m + (1 - beta1) * g
    state["m"] = beta2 * m + (1 - beta2) * g
    return p - rate * (np.sign(c) + weight_decay * p)


def train(rule, tensors, steps, **options):
    """Runs `steps` updates of w on the mean of (x @ w - t)^2. `tensors` are w, x and t."""
    w, x, t = (tensor.detach().numpy() for tensor in tensors)
    state = {}
    for step in range(1, steps + 1):
        gradient = 2 / t.size * x.T @ (x @ w - t)
        w = rule(w, gradient, step, state, **options)
    return tensors[0].new_tensor(w)


def train_rows(rule, tensors, steps, **options):
    """Runs `steps` updates of w on the mean of (w[a] * w[b] - t)^2, where a and b are the halves of
    row `step` of x. Applies the rule only to the rows in a or b. Each row has its own state."""
    w, x, t = (tensor.detach().numpy().copy() for tensor in tensors)
    states = [{} for _ in w]
    for step in range(1, steps + 1):
        a, b = np.split(x[step - 1], 2)
        product_gradient = 2 / t.size * (w[a] * w[b] - t)
        gradient = np.zeros_like(w)
        np.add.at(gradient, a, product_gradient * w[b])
        np.add.at(gradient, b, product_gradient * w[a])
        for row in np.union1d(a, b):
            w[row] = rule(w[row], gradient[row], step, states[row], **options)
    return tensors[0].new_tensor(w)


def train_rows_with_torch(optimizer, tensors, steps):
    """The same as train_rows(), with PyTorch's sparse gradients."""
    w = tensors[0].detach().clone().requires_grad_()
    x, t = tensors[1:]
    optimizer = optimizer(w)
    for step in range(steps):
        a, b = (torch.nn.functional.embedding(ids, w, sparse=True) for ids in x[step].chunk(2))
        optimizer.zero_grad()
        ((a * b - t) ** 2).mean().backward()
        optimizer.step()
    return w.detach()


def lbfgs(tensors):
    """The minimum of the mean cross entropy of x @ w and t plus the mean square of w that PyTorch's
    L-BFGS finds, and the w there, times 1e5 and rounded. `tensors` are w, x and t."""
    w, x, t = (tensor.detach().clone() for tensor in tensors)
    w.requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-15,
                                  line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(x @ w, t) + (w**2).mean()
        loss.backward()
        return loss
    optimizer.step(closure)
    return torch.cat([closure().detach()[None], torch.round(w.detach().flatten() * 1e5)])


def rates(schedule, steps):
    """The learning rates of the first steps; `schedule` makes a PyTorch scheduler for an
    optimizer."""
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scheduler = schedule(optimizer)
    result = []
    for _ in range(steps):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return torch.tensor(result, dtype=torch.float64)


def plateau_factors(measured, **options):
    """The factors that PyTorch applies to the learning rate after each measurement."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    result = []
    for value in measured.tolist():
        scheduler.step(value)
        result.append(optimizer.param_groups[0]["lr"])
    return torch.tensor(result, dtype=torch.float64)


def spectral_norm(weight, u, iterations):
    """PyTorch's module after this many iterations from the left vector u."""
    layer = torch.nn.Module()
    layer.register_parameter("w", torch.nn.Parameter(weight.detach()))
    torch.nn.utils.spectral_norm(layer, "w", n_power_iterations=iterations, dim=0)
    layer.w_u.copy_(u.detach() / u.detach().norm())
    # A view of the operand, so that its gradient flows.
    del layer._parameters["w_orig"]
    layer.w_orig = weight
    hook = next(iter(layer._forward_pre_hooks.values()))
    return hook.compute_weight(layer, do_power_iteration=True)


def focal(x, target, gamma, alpha):
    """Lin et al. 2017, "Focal loss for dense object detection", equation 5."""
    p = torch.sigmoid(x)
    p_t = torch.where(target == 1, p, 1 - p)
    alpha_t = torch.where(target == 1, alpha, 1 - alpha).to(x.dtype)
    return -alpha_t * (1 - p_t) ** gamma * torch.log(p_t)


def corrected_logits(hidden, label, weight, bias, sampled, sampler):
    """The logits of the label and of the sampled classes, minus the log of the expected counts."""
    classes = len(weight)
    k = torch.arange(classes, dtype=hidden.dtype)
    q = {"uniform": torch.full_like(k, 1 / classes),
         "log_uniform": torch.log((k + 2) / (k + 1)) / np.log(classes + 1)}[sampler]
    assert abs(q.sum() - 1) < 1e-12
    logits = hidden @ weight.T + bias - torch.log(len(sampled) * q)
    return logits.gather(1, label[:, None])[:, 0], logits[:, sampled]


def sampled_softmax(hidden, label, weight, bias, sampled, sampler):
    """Jean et al. 2015, "On using very large target vocabulary", without accidental hits."""
    own, others = corrected_logits(hidden, label, weight, bias, sampled, sampler)
    losses = []
    for i in range(len(label)):
        logits = torch.cat([own[i:i + 1], others[i][sampled != label[i]]])
        losses.append(torch.logsumexp(logits, 0) - own[i])
    return torch.stack(losses)


def nce(hidden, label, weight, bias, sampled, sampler):
    """Mnih and Teh 2012, "A fast and simple algorithm for training neural probabilistic language
    models", equation 9, where the sampled classes replace the expectation over the noise."""
    own, others = corrected_logits(hidden, label, weight, bias, sampled, sampler)
    return -F.logsigmoid(own) - F.logsigmoid(-others).sum(1)


def complete_tree(classes):
    """Returns the inner nodes and the branches on the path from the root to each class. The
    branches are the bits of label + classes after the first bit."""
    depth = (2 * classes - 1).bit_length() - 1
    path = torch.full((classes, depth), -1)
    code = torch.zeros((classes, depth), dtype=torch.long)
    for label in range(classes):
        bits = bin(label + classes)[3:]
        node = 1
        for level, bit in enumerate(bits):
            path[label, level], code[label, level] = node - 1, int(bit)
            node = 2 * node + int(bit)
    return path, code


def hierarchical_softmax(hidden, label, weight, bias, path, code):
    """Morin and Bengio 2005: -log of the product of the branches' probabilities."""
    losses = []
    for h, y in zip(hidden, label):
        probability = torch.ones((), dtype=hidden.dtype)
        for node, bit in zip(path[y].tolist(), code[y].tolist()):
            if node < 0:
                continue
            right = torch.sigmoid(h @ weight[node] + bias[node])
            probability = probability * (right if bit else 1 - right)
        losses.append(-torch.log(probability))
    return torch.stack(losses)


def _sequences(x, splits, labels, label_splits):
    """Returns the rows and labels of each sequence."""
    bounds, label_bounds = splits.tolist(), label_splits.tolist()
    return [(x[a:b], labels[c:d]) for a, b, c, d in zip(bounds, bounds[1:], label_bounds, label_bounds[1:])]


def _ctc_loss(rows, labels, blank):
    """PyTorch's loss of one sequence; its gradient is 0 where the loss is infinite."""
    if len(rows) == 0:
        return rows.sum() + (0.0 if len(labels) == 0 else np.inf)
    def loss(x, zero_infinity):
        return F.ctc_loss(x[:, None], labels[None], [len(rows)], [len(labels)], blank,
                          reduction="none", zero_infinity=zero_infinity)[0]
    if loss(rows.detach(), False).isinf():
        return rows.sum() * 0 + np.inf
    # PyTorch's gradient assumes that log_softmax made the operand. It includes a term that the
    # gradient of log_softmax would cancel; subtract this term.
    return loss(rows, True) - (rows.exp() - rows.exp().detach()).sum()


def ctc(x, splits, labels, label_splits, blank, zero_infinity):
    losses = [_ctc_loss(rows, right, blank)
              for rows, right in _sequences(x, splits, labels, label_splits)]
    if not losses:
        return x.new_zeros(0)
    losses = torch.stack(losses)
    return torch.where(losses.isinf(), 0.0, losses) if zero_infinity else losses


def ctc_gradient(x, splits, labels, label_splits, blank):
    x = x.detach().requires_grad_()
    total = ctc(x, splits, labels, label_splits, blank, True).sum() + (0 * x).sum()
    return torch.autograd.grad(total, x)[0]


def _attention_parts(x, others):
    """Queries, keys, values of each sequence as [heads, steps, width], and which keys are used."""
    query, key, value = x[:3]
    if len(others) == 2:
        lengths = [torch.diff(splits).tolist() for splits in others]
        parts = zip(query.split(lengths[0]), key.split(lengths[1]), value.split(lengths[1]))
        used = [None] * len(lengths[0])
    else:
        parts = zip(query, key, value)
        used = others[0] if others else [None] * len(query)
    groups = query.shape[-2] // key.shape[-2]
    for (q, k, v), mask in zip(parts, used):
        heads = [part.transpose(0, 1) for part in (q, k, v)]
        yield [heads[0]] + [part.repeat_interleave(groups, 0) for part in heads[1:]], mask


def attention(x, causal, scale):
    ys, sums = [], []
    for (q, k, v), used in _attention_parts(x, x[3:]):
        scores = q @ k.transpose(1, 2) * scale
        allowed = torch.ones(scores.shape[1:], dtype=torch.bool)
        allowed = allowed.tril() if causal else allowed
        allowed = allowed if used is None else allowed & used
        scores = scores.masked_fill(~allowed, -math.inf)
        none = ~allowed.any(-1)
        weights = scores.masked_fill(none[:, None], 0).softmax(-1).masked_fill(none[:, None], 0)
        ys.append((weights @ v).transpose(0, 1))
        sums.append(scores.logsumexp(-1).transpose(0, 1))
    if not ys:
        return x[0].new_zeros(x[0].shape[:-1] + x[2].shape[-1:]), x[0].new_zeros(x[0].shape[:-1])
    join = torch.cat if len(x) == 5 else torch.stack
    return join(ys), join(sums)


def attention_gradient(x, causal, scale):
    """By its definition, from weights that need not add up to 1."""
    query, key, value, log_sums, gradient, shift = x[:6]
    leaves = [part.detach().requires_grad_() for part in (query, key, value)]
    total = sum((0 * leaf).sum() for leaf in leaves)
    rest = torch.stack([log_sums, shift], -1)
    rows = list(zip(_attention_parts(leaves, x[6:]),
                    _attention_parts([rest, key, value], x[6:]),
                    _attention_parts([gradient, key, value], x[6:])))
    for ((q, k, v), used), ((more, _, _), _), ((dy, _, _), _) in rows:
        scores = q @ k.transpose(1, 2) * scale
        allowed = torch.ones(scores.shape[1:], dtype=torch.bool)
        allowed = allowed.tril() if causal else allowed
        allowed = allowed if used is None else allowed & used
        weights = (scores - more[..., :1]).exp() * allowed
        fixed = weights.detach()
        dscores = fixed * ((dy @ v.transpose(1, 2)).detach() - more[..., 1:])
        total = total + (dscores * scores).sum() + (fixed * (dy @ v.transpose(1, 2))).sum()
    return torch.autograd.grad(total, leaves)


def ctc_loss(logits, lengths, labels, label_lengths):
    """PyTorch's loss of logits, with all sequences padded to one length."""
    rows = torch.nn.utils.rnn.pad_sequence(logits.split(lengths)).log_softmax(2)
    return F.ctc_loss(rows, labels, lengths, label_lengths, reduction="none")


def crf(emissions, lengths, labels, start, transition, end):
    """Enumerates all paths of each sequence: Lafferty et al. 2001."""
    def score(rows, path):
        total = start[path[0]] + end[path[-1]]
        total = total + sum(row[tag] for row, tag in zip(rows, path))
        return total + sum(transition[i, j] for i, j in zip(path, path[1:]))
    losses = []
    for rows, right in zip(emissions.split(lengths), labels.split(lengths)):
        paths = itertools.product(range(emissions.shape[1]), repeat=len(rows))
        scores = torch.stack([score(rows, path) for path in paths])
        losses.append(torch.logsumexp(scores, 0) - score(rows, right.tolist()))
    return torch.stack(losses)


def straight_through(values, x, passes):
    """The numbers `values`, whose gradient goes to x where `passes`."""
    path = torch.where(passes, x, torch.zeros_like(x))
    return values.detach() + path - path.detach()


def of_units(x, axis, reduced):
    """A reduction over all axes but `axis`, or over all, broadcast to the shape of x."""
    return reduced(x, [a for a in range(x.dim()) if a != axis]).expand(x.shape)


def mean_of_units(x, axis):
    return of_units(x, axis, lambda v, axes: v.mean(axes, keepdim=True))


def binarize(x):
    """Hubara et al. 2016, "Binarized Neural Networks"."""
    return straight_through(torch.where(x >= 0, 1.0, -1.0).to(x.dtype), x, x.abs() <= 1)


def binary_weight(w, axis):
    """Rastegari et al. 2016, "XNOR-Net"."""
    return binarize(w) * mean_of_units(w.abs(), axis)


def ternary_weight(w, axis):
    """Li et al. 2016, "Ternary Weight Networks", unit by unit."""
    if axis is None:
        units, back = w.reshape(1, -1), lambda x: x.reshape(w.shape)
    else:
        moved = w.movedim(axis, 0)
        units = moved.reshape(len(moved), -1)

        def back(x):
            return x.reshape(moved.shape).movedim(0, axis)
    rows = []
    for row in units:
        large = row.abs() > 0.7 * row.abs().mean()
        scale = row.abs()[large].mean() if large.any() else 0.0
        rows.append(torch.where(large, row.sign() * scale, torch.zeros_like(row)))
    return straight_through(back(torch.stack(rows)), w, torch.isfinite(w))


def power_of_two_weight(w, bits, axis):
    """The nearest of all numbers that the bits can be, by comparing all: Zhou et al. 2017."""
    largest = of_units(w.abs(), axis, lambda v, axes: v.amax(axes, keepdim=True))
    powers = 2.0 ** torch.arange(-60, 60, dtype=w.dtype)
    top = powers[(largest[..., None] - powers).abs().argmin(-1)]
    codes = 2.0 ** -torch.arange(2 ** (bits - 1) - 1, dtype=w.dtype)
    levels = torch.cat([torch.zeros(1, dtype=w.dtype), codes, -codes]) * top[..., None]
    nearest = (w[..., None] - levels).abs().argmin(-1, keepdim=True)
    return straight_through(levels.gather(-1, nearest)[..., 0], w, torch.isfinite(w))


def relation_distance(student, teacher):
    """Park et al. 2019, "Relational Knowledge Distillation", pair by pair."""
    def relative(x):
        pairs = [(x[i] - x[j]).norm() if i != j else x.sum() * 0
                 for i in range(len(x)) for j in range(len(x))]
        distances = torch.stack(pairs)
        return distances / distances[distances > 0].mean()
    return F.smooth_l1_loss(relative(student), relative(teacher))


def relation_angle(student, teacher):
    """The same for triples."""
    def cosines(x):
        n = range(len(x))
        return torch.stack([
            F.cosine_similarity(x[i] - x[j], x[i] - x[k], dim=0) if i not in (j, k)
            else x.sum() * 0 for i in n for j in n for k in n])
    return F.smooth_l1_loss(cosines(student), cosines(teacher))
