"""Where Trireme differs from PyTorch on purpose. docs/reference/numerics.md states the rules."""

import fnmatch
import math

# (function, part, where, rule). `function` and `part` are patterns of fnmatch. `where` gets the
# operands' entries at the point (a number or a list each), Trireme's number and PyTorch's.
RULES = [
]
_used = set()


def find(function, dtype, part, x, got, expected):
    """Returns the rule that explains a difference, or None."""
    for i, (pattern, parts, where, rule) in enumerate(RULES):
        if fnmatch.fnmatch(function, pattern) and fnmatch.fnmatch(part, parts) and where(x, got, expected):
            _used.add(i)
            return rule
    return None


def unused():
    return [rule[3] for i, rule in enumerate(RULES) if i not in _used]
