"""Efficiency against the number of trainers, as plain SVG: lines are closed forms, circles
simulations."""

import math

import formulas

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, KEY = 760, 400, 56, 24, 46, 250
COLORS = ["#1f5fa8", "#b5533c", "#3a7d44", "#7a5195", "#8a6d1f"]


def curves(model):
    """(name, closed form by trainers, [(trainers, simulated)]): pace of a trainer by that of a
    process alone."""
    c, assumed = model.c, model.assumed
    for mode, form in {"asynchronous": formulas.asynchronous, "synchronous": formulas.synchronous,
                       "geo": formulas.geo}.items():
        of = lambda n, form=form: form(c, assumed, n, max(1, round(n / 2)), model.table_rows)[0]
        points = [(n, model.cluster(mode, n, s)[1] / (n * model.alone())) for n, s in
                  [(1, 1), (2, 1), (4, 2), (10, 5), (20, 10), (50, 25), (100, 50)]]
        yield f"servers, {mode}", lambda n, of=of: c.step / of(n), points
    for name, size, step in [("ResNet-20", 1.1e6, c.picture_step), ("100 MB", 1e8, 1.0)]:
        yield (f"all-reduce, {name}",
               lambda n, size=size, step=step: step / formulas.all_reduce(c, assumed, n, size, step),
               [(n, step / model.ring(size, step, n)[1]) for n in (1, 2, 8, 32, 100)])


def draw(model):
    right, bottom = WIDTH - KEY, HEIGHT - BOTTOM
    x = lambda n: LEFT + (right - LEFT) * math.log(n) / math.log(100)
    y = lambda e: bottom - (bottom - TOP) * min(e, 1.1) / 1.1
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="14">efficiency of each trainer (a model; nothing was run on more than one machine)</text>']
    for mark in (0, 0.2, 0.4, 0.6, 0.8, 1):
        svg.append(f'<line x1="{LEFT}" x2="{right}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="#ddd"/>')
        svg.append(f'<text x="{LEFT - 8}" y="{y(mark) + 4:.1f}" text-anchor="end">{100 * mark:.0f}%</text>')
    for n in (1, 2, 5, 10, 20, 50, 100):
        svg.append(f'<text x="{x(n):.1f}" y="{bottom + 18}" text-anchor="middle">{n}</text>')
    svg.append(f'<text x="{(LEFT + right) / 2:.0f}" y="{bottom + 38}" text-anchor="middle">trainers (half as many servers)</text>')
    for i, (name, form, points) in enumerate(curves(model)):
        color = COLORS[i]
        line = " ".join(f"{x(n):.1f},{y(form(n)):.1f}" for n in [1, *range(2, 101, 2)])
        svg.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        svg += [f'<circle cx="{x(n):.1f}" cy="{y(e):.1f}" r="3.5" fill="{color}"/>' for n, e in points]
        svg.append(f'<rect x="{right + 24}" y="{TOP + 22 * i}" width="14" height="4" fill="{color}"/>')
        svg.append(f'<text x="{right + 44}" y="{TOP + 22 * i + 7}">{name}</text>')
    svg.append(f'<text x="{right + 24}" y="{TOP + 22 * 5 + 12}">lines: closed forms</text>')
    svg.append(f'<text x="{right + 24}" y="{TOP + 22 * 5 + 30}">circles: simulation</text>')
    return "\n".join([*svg, "</svg>", ""])
