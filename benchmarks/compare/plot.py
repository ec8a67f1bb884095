"""Draws speed ratios and their goals as horizontal bars with a logarithmic axis, in SVG."""

import html
import math

LABEL, BARS, ROW, TOP = 560, 420, 22, 40
MARKS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]


def draw(goals):
    """Returns the SVG of goals (what, threads or None, ratio or None, goal) of report.goals()."""
    ratios = [r for _, _, r, _ in goals if r] + [g for _, _, _, g in goals] + [1.0]
    low, high = min(0.5, *ratios), max(ratios) * 1.1

    def x(ratio):
        return LABEL + BARS * math.log(ratio / low) / math.log(high / low)

    height = TOP + ROW * len(goals) + 10
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + BARS + 80}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LABEL}" y="14">ratio to the peer; the black mark is the goal</text>']
    for mark in (m for m in MARKS if low <= m <= high):
        svg.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{TOP - 6}" y2="{height - 8}" '
                   'stroke="#ddd"/>')
        svg.append(f'<text x="{x(mark):.1f}" y="{TOP - 10}" text-anchor="middle">{mark:g}</text>')
    for i, (what, threads, ratio, goal) in enumerate(goals):
        y = TOP + ROW * i
        label = what + (f", {threads} thread{'s' * (threads > 1)}" if threads else "")
        svg.append(f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>')
        if ratio:
            color = "#3a7d44" if ratio >= goal else "#b5533c"
            svg.append(f'<rect x="{LABEL}" y="{y + 3}" width="{x(ratio) - LABEL:.1f}" height="14" '
                       f'fill="{color}"/>')
            svg.append(f'<text x="{x(ratio) + 4:.1f}" y="{y + 14}">{ratio:.2f}</text>')
        svg.append(f'<line x1="{x(goal):.1f}" x2="{x(goal):.1f}" y1="{y + 1}" y2="{y + 19}" '
                   'stroke="black" stroke-width="2"/>')
    return "\n".join([*svg, "</svg>", ""])
