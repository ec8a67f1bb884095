"""The functions of trireme/sequence.h, computed for each sequence separately.

Row splits are tensors, the outermost level first.
"""

import torch


def parts(x, splits):
    bounds = splits.tolist()
    return [x[a:b] for a, b in zip(bounds, bounds[1:])]


def stacked(values, like):
    return torch.stack(values) if values else like[:0]


def joined(values, like):
    return torch.cat(values) if values else like[:0]


def padded(sequences, like, length=12, fill=-7.0):
    """Returns [n, length, ...], so that sequences of any length can be compared."""
    lines = []
    for p in sequences:
        short = p[:length]
        rest = torch.full((length - len(short),) + like.shape[1:], fill, dtype=like.dtype)
        lines.append(torch.cat([short, rest]))
    return torch.stack(lines) if lines else like.new_zeros((0, length) + like.shape[1:])


def top_k(sequences, like, k, by_size, fill):
    result = []
    for p in sequences:
        taken = min(k, len(p))
        order = torch.sort(p, dim=0, descending=True, stable=True)[1][:taken]
        if not by_size:
            order = torch.sort(order, dim=0)[0]
        rest = torch.full((k - taken,) + like.shape[1:], fill, dtype=like.dtype)
        result.append(torch.cat([torch.take_along_dim(p, order, 0), rest]))
    return torch.stack(result) if result else like.new_zeros((0, k) + like.shape[1:])


def by_sequence(x, splits):
    all_parts = parts(x, splits)
    zero = torch.zeros(x.shape[1:], dtype=x.dtype)

    def each(f):
        return stacked([f(p) if len(p) else zero for p in all_parts], x)

    return [each(lambda p: p.sum(0)), each(lambda p: p.mean(0)),
            each(lambda p: p.sum(0) / len(p) ** 0.5), each(lambda p: p.amax(0)),
            each(lambda p: p.amin(0)), each(lambda p: p[0]), each(lambda p: p[-1]),
            top_k(all_parts, x, 2, False, 0.0), top_k(all_parts, x, 3, True, -1.0),
            splits, torch.tensor([len(p) for p in all_parts], dtype=torch.int64)]


def windows(sequences, like, size, first, fill):
    rows = []
    for p in sequences:
        for t in range(len(p)):
            window = [p[t + k] if 0 <= t + k < len(p) else torch.full_like(like[0], fill)
                      for k in range(first, first + size)]
            rows.append(torch.stack(window))
    return torch.stack(rows) if rows else like.new_zeros((0, size) + like.shape[1:])


def by_row(x, splits, values):
    all_parts = parts(x, splits)
    counts = [len(p) for p in all_parts]
    ids = [i for i, count in enumerate(counts) for _ in range(count)]
    positions = [t for count in counts for t in range(count)]
    return [joined([torch.softmax(p, 0) for p in all_parts], x),
            joined([p.flip(0) for p in all_parts], x),
            joined([v.expand((n,) + v.shape) for v, n in zip(values, counts)], values),
            windows(all_parts, x, 3, 0, 0.5), windows(all_parts, x, 4, -2, 0.0),
            torch.tensor(ids, dtype=torch.int64), torch.tensor(positions, dtype=torch.int64)]


def made(x, splits, y, y_splits, keep, words, offset, length):
    xs, ys = parts(x, splits), parts(y, y_splits)
    cut = [p[min(max(o, 0), len(p)):][:max(n, 0)]
           for p, o, n in zip(xs, offset.tolist(), length.tolist())]
    return [padded([torch.cat([p, q, p]) for p, q in zip(xs, ys)], x, 20),
            padded(cut, x), padded([p[k > 0] for p, k in zip(xs, parts(keep, splits))], x),
            padded([p[(p != 0) & (p != 2)] for p in parts(words, splits)], words),
            padded([p.reshape(-1, 2) for p in xs], x.reshape(-1, 2), 20),
            # Sequence i of x, repeated for each row of sequence i of y.
            padded([p for p, q in zip(xs, ys) for _ in range(len(q))], x)]


def levels(x, outer, inner):
    inner_parts = parts(x, inner)
    bounds = outer.tolist()
    flat = [joined(inner_parts[a:b], x) for a, b in zip(bounds, bounds[1:])]
    return [padded(flat, x), padded(inner_parts, x)]


def dense(x, splits, y):
    xs = parts(x, splits)
    lines = [torch.cat([p, torch.full((4,) + x.shape[1:], -1.0)])[:4] for p in xs]
    mask = [[t < len(p) for t in range(4)] for p in xs]
    back = [y[i][[min(t, 3) for t in range(len(p))]] for i, p in enumerate(xs)]
    return [torch.stack(lines) if lines else x.new_zeros((0, 4) + x.shape[1:]),
            torch.tensor(mask, dtype=torch.bool).reshape(len(xs), 4), joined(back, y[:, 0])]


def scattered(x, splits, places, updates, update_splits):
    written, added = [], []
    for p, at, rows in zip(parts(x, splits), parts(places, update_splits),
                           parts(updates, update_splits)):
        write, add = list(p), list(p)
        for t, row in zip(at.tolist(), rows):
            write[t] = row
            add[t] = add[t] + row
        written.append(stacked(write, x))
        added.append(stacked(add, x))
    return [joined(written, x), joined(added, x)]


def convolution(x, splits, weight, bias, kernel, first):
    seen = windows(parts(x, splits), x, kernel, first, 0.0)
    return seen.reshape(len(x), kernel * x.shape[1]) @ weight + bias


def row_convolution(x, splits, weight):
    return (windows(parts(x, splits), x, len(weight), 0, 0.0) * weight).sum(1)
