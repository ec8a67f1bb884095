"""What a row of a sparse table takes: docs/reference/formats/table.md and src/distributed/table as
arithmetic."""

import math

SLOTS = 16384
ENTRY, STATISTICS, RECORD_TAIL, ID = 16, 12, 12, 8  # bytes
STATE = {"sgd": 0, "adagrad": 1, "adam": 2, "ftrl": 2}  # floats for each weight
ROW_WISE = "adagrad, one float a row"  # which the table does not have


def weight_bytes(width, float16):
    return -(-2 * width // 4) * 4 if float16 else 4 * width


def state_bytes(width, rule):
    return 4 if rule == ROW_WISE else 4 * width * STATE[rule]


def stride(row_bytes):
    """RowPool: rows of at most a cache line do not cross one, longer ones begin at multiples of
    16."""
    if row_bytes <= 64:
        return 1 << (max(row_bytes, 4) - 1).bit_length()
    return (row_bytes + 15) // 16 * 16


def places(count):
    """SlotIndex: four places at first, doubled when more than three quarters would be taken."""
    n = 4
    while count * 4 > n * 3:
        n *= 2
    return 0 if count == 0 else n


def index_bytes(rows):
    """Of a row, on average, where `rows` ids fall into slots by chance: Poisson, by the normal law
    when there are many."""
    mean = rows / SLOTS
    if mean > 400:
        deviation = math.sqrt(mean)
        points = [(mean + deviation * x / 8, math.exp(-(x / 8) ** 2 / 2)) for x in range(-48, 49)]
        weight = sum(w for _, w in points)
        expected = sum(places(max(0, round(at))) * w for at, w in points) / weight
    else:
        term, expected = math.exp(-mean), 0.0
        for count in range(int(mean + 12 * math.sqrt(mean) + 20)):
            expected += places(count) * term
            term *= mean / (count + 1)
    return ENTRY * expected / mean


def memory_bytes(rows, width, rule, float16):
    """Of one of `rows` rows in memory."""
    row = weight_bytes(width, float16) + state_bytes(width, rule)
    return stride(row) + STATISTICS + index_bytes(rows)


def record_bytes(width, rule, float16):
    return weight_bytes(width, float16) + state_bytes(width, rule) + RECORD_TAIL


def checkpoint_bytes(width, rule, float16):
    """Of a row in a checkpoint, without headers."""
    return ID + record_bytes(width, rule, float16)
