"""Steps of optimizers and learning rates, by PyTorch or by the formulas of their papers."""

import formulas
import numpy
import torch


def clip(parameters, value=0, norm=0, global_norm=0):
    """Limits the gradients. RuntimeError if a norm is not finite."""
    if value:
        torch.nn.utils.clip_grad_value_(parameters, value)
    if norm:
        for parameter in parameters:
            torch.nn.utils.clip_grad_norm_([parameter], norm, error_if_nonfinite=True)
    if global_norm:
        torch.nn.utils.clip_grad_norm_(parameters, global_norm, error_if_nonfinite=True)


def steps(make, x, every=1, l1=0, l2=0, of=None, **limits):
    """[points, 4]: x[0] before and after steps with the gradients x[1], x[2] and x[1]. `make` makes
    an optimizer of a list of parameters. It sees the mean of `every` gradients. With `of`, that
    part of the state of a Formula instead of the parameter after each step."""
    w = x[0].clone().requires_grad_()
    optimizer = make([w])
    path, total = [x[0]], torch.zeros_like(x[0])
    for t, gradient in enumerate((x[1], x[2], x[1]), 1):
        total = total + gradient
        if t % every == 0:
            w.grad = total / every
            if l1 or l2:
                w.grad += l2 * w.detach() + l1 * torch.sign(w.detach())
            total = torch.zeros_like(x[0])
            clip([w], **limits)
            optimizer.step()
        path.append(optimizer.states[0][of] if of else w.detach().clone())
    return torch.stack(path, 1)


def _alone(make, p, g, limits):
    half = len(p) // 2
    w = [part.clone().requires_grad_() for part in (p[:half], p[half:])]
    optimizer = make(w)
    path = [p]
    for gradient in (g, g.flip(0), torch.full_like(g, 0.5)):
        w[0].grad, w[1].grad = gradient[:half].clone(), gradient[half:].clone()
        try:
            clip(w, **limits)
        except RuntimeError:  # from here on there is no number
            path += [torch.full_like(p, numpy.nan)] * (4 - len(path))
            break
        optimizer.step()
        path.append(torch.cat(w).detach())
    return torch.stack(path, 1)


def alone(make, x, **limits):
    """[rows, width, 4]: the halves of each row of x[0] are two parameters, and those of x[1] their
    gradients: in this order, in reverse order, and then 0.5. NaN where a norm is not finite."""
    return torch.stack([_alone(make, p, g, limits) for p, g in zip(x[0], x[1])])


def exponential(path, decay, correct_bias=True):
    """Averages of the parameters [points, steps]; before the first step, the parameters."""
    average = torch.zeros_like(path[:, 0]) if correct_bias else path[:, 0]
    averages = [path[:, 0]]
    for t in range(1, path.shape[1]):
        average = decay * average + (1 - decay) * path[:, t]
        averages.append(average / (1 - decay**t) if correct_bias else average)
    return torch.stack(averages, 1)


def window(path, updates):
    """The means of the last updates: all, or from updates + 1 to twice as many."""
    averages = [path[:, 0]]
    for t in range(1, path.shape[1]):
        count = t if t < 2 * updates else updates + 1 + (t - 1 - updates) % updates
        averages.append(path[:, t - count + 1:t + 1].mean(1))
    return torch.stack(averages, 1)


class Formula:
    """An optimizer: rule(parameter, gradient, number of the step, state, options)."""

    def __init__(self, parameters, rule, **options):
        self.parameters, self.rule, self.options, self.t = parameters, rule, options, 0
        self.states = [{} for _ in parameters]

    def step(self):
        self.t += 1
        for w, state in zip(self.parameters, self.states):
            w.data = self.rule(w.detach(), w.grad, self.t, state, **self.options)


def lion(p, g, t, state, rate, beta1=0.9, beta2=0.99, weight_decay=0.0):
    """Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2."""
    m = state.get("m", torch.zeros_like(p))
    c = beta1 * m + (1 - beta1) * g
    state["m"] = beta2 * m + (1 - beta2) * g
    return p * (1 - rate * weight_decay) - rate * torch.where(c.isnan(), c, torch.sign(c))


def lamb(p, g, t, state, rate, beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0.01):
    """You et al. 2020, "Large batch optimization for deep learning", algorithm 2, phi(z) = z. The
    trust ratio is 1 if a norm is 0."""
    zeros = torch.zeros_like(p)
    state["m"] = beta1 * state.get("m", zeros) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", zeros) + (1 - beta2) * g**2
    m, v = state["m"] / (1 - beta1**t), state["v"] / (1 - beta2**t)
    change = m / (torch.sqrt(v) + epsilon)
    if weight_decay:
        change = change + weight_decay * p
    of_p, of_change = torch.linalg.vector_norm(p), torch.linalg.vector_norm(change)
    trust = of_p / of_change if torch.minimum(of_p, of_change) != 0 else 1.0
    return p - change * (trust * rate)


def lars(p, g, t, state, rate, momentum=0.9, trust=1e-3, weight_decay=0.0):
    """You, Gitman and Ginsburg 2017, "Large batch training of convolutional networks",
    algorithm 1. The quotient is 1 if a norm is 0."""
    of_p, of_g = torch.linalg.vector_norm(p), torch.linalg.vector_norm(g)
    share = trust * of_p / (of_g + weight_decay * of_p) if torch.minimum(of_p, of_g) != 0 else 1.0
    change = g + weight_decay * p if weight_decay else g
    state["v"] = momentum * state.get("v", torch.zeros_like(p)) + share * rate * change
    return p - state["v"]


def adafactor(p, g, t, state, rate, epsilon=1e-3):
    """Shazeer and Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost",
    algorithm 5, of vectors."""
    share = t**-0.8
    v = state.get("v", torch.zeros_like(p))
    state["v"] = v + (g**2 + 1e-30 - v) * share
    u = g * torch.rsqrt(state["v"])
    u = u / torch.maximum((u**2).mean().sqrt(), torch.ones_like(u))
    size = torch.maximum((p**2).mean().sqrt(), torch.full_like(p, epsilon))
    return p - u * size * min(rate, t**-0.5)


def of_matrix(p, g, t, state, formula, rows, **options):
    """A rule of formulas.py for vectors that are the rows of a matrix one after another."""
    with numpy.errstate(all="ignore"):
        after = formula(p.reshape(rows, -1).numpy(), g.reshape(rows, -1).numpy(), t, state, **options)
    return torch.from_numpy(after.astype(p.numpy().dtype)).reshape(p.shape)


def schedule_free_sgd(p, g, t, state, rate, beta=0.9, weight_decay=0.0):
    """Defazio et al. 2024, "The road less scheduled", equations 3 to 5, with steps weighted by the
    square of the largest rate; steps of rate 0 do not count. `rate` may be one for each step."""
    rate = rate[t - 1] if isinstance(rate, tuple) else rate
    state["rate"] = max(state.get("rate", 0), rate)
    state["sum"] = state.get("sum", 0) + state["rate"]**2
    share = state["rate"]**2 / state["sum"] if state["sum"] else 0
    direction = g + weight_decay * p if weight_decay else g
    state["z"] = state.get("z", p) - rate * direction
    before = state.get("x", p)
    state["x"] = before + (state["z"] - before) * share
    return state["z"] + (state["x"] - state["z"]) * beta


def schedule_free_adamw(p, g, t, state, rate, beta2=0.999, epsilon=1e-8, weight_decay=0.0):
    """Algorithm 1 of the same paper."""
    state["v"] = beta2 * state.get("v", torch.zeros_like(p)) + (1 - beta2) * g**2
    direction = g / (torch.sqrt(state["v"] / (1 - beta2**t)) + epsilon)
    if weight_decay:
        direction = direction + weight_decay * p
    return schedule_free_sgd(p, direction, t, state, rate)


def ftrl(p, g, t, state, **options):
    with numpy.errstate(all="ignore"):
        after = formulas.ftrl(p.numpy(), g.numpy(), t, state, **options)
    return torch.from_numpy(after.astype(p.numpy().dtype))


def rates(at, rate, formula, schedule=None, until=0):
    """The learning rates of the steps `at` by `formula`, a function of a NumPy array. In steps
    below `until`, PyTorch's `schedule` of an optimizer must agree with it."""
    if schedule:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
        scheduler = schedule(optimizer)
        seen = []
        for _ in range(until):
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        if not numpy.allclose(seen, formula(numpy.arange(until * 1.0)), rtol=1e-12, atol=1e-16):
            raise ValueError("PyTorch's rates differ from the formula")
    with numpy.errstate(all="ignore"):
        result = formula(at.numpy())
    return torch.from_numpy(result + numpy.zeros(len(at)))


def restarts(rate, steps, growth, last, factor):
    """Cosines with warm restarts, by walking from cycle to cycle in integers."""
    def at(s):
        start, length, height = 0, steps, rate - last
        while start + length <= s:
            start, length, height = start + length, length * growth, height * factor
        return last + height * (1 + numpy.cos(numpy.pi * (int(s) - start) / length)) / 2
    return numpy.vectorize(at)


def plateau(measured, higher_is_better=False, **options):
    """[rows, measurements]: the factors after each measurement of a row."""
    mode = "max" if higher_is_better else "min"
    return torch.stack([formulas.plateau_factors(row, mode=mode, **options) for row in measured])
