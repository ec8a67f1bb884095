"""The inputs of the model: measurements of benchmarks/scaling.sh, and assumptions about machines
that were not measured."""

import json
import math
import os
from dataclasses import dataclass

MEASURED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured.json")

# A step of benchmarks/parameter_server.cc and of the case deepfm.
SAMPLES, FIELDS, WIDTH = 512, 26, 16
IDS = SAMPLES * FIELDS
BENCH_ROWS = 1_000_000  # of that benchmark's table
LOOKUP_DOWN, PUSH_UP = 4 * WIDTH, 8 + 4 * WIDTH  # bytes of a row on the wire
# Other parameters of such a DeepFM (100 - 50), each pulled and pushed in every step.
DENSE, DENSE_BYTES = 9, 270_000


@dataclass(frozen=True)
class Assumptions:
    """None of these were measured."""
    server_cores: int = 8          # of a parameter server; one core was measured
    network: float = 25e9 / 8      # bytes/s of a machine's connection, each way
    round_trip: float = 50e-6      # s between two machines, beside what the ends compute
    jitter: float = 0.1            # deviation of a step's time: log-normal with mean 1
    hidden: float = 0.5            # of a step's computing that all-reduce can hide behind
    nodes: int = 100
    node_life: float = 30 * 86400  # s between two failures of one machine, exponential
    notice: float = 5.0            # s until a dead process's lease is over
    restart: float = 10.0          # s until another process stands in its place
    parameters: float = 1e11


@dataclass(frozen=True)
class Constants:
    """Seconds, bytes a second and counts, from the benchmarks' lines."""
    message: float          # s of a core at either end, of a request and its answer
    byte: float             # s of a core for a byte of a large message
    round_trip: float       # s of a small request and its answer on loopback, one at a time
    server_row: float       # s of a server's core for a distinct row: lookup and AdaGrad push
    client_row: float       # the same of the trainer's
    update_row: float       # s for an update alone
    cold_row: float         # s for a row that comes from disk
    step: float             # s of DeepFM's step in one process on one thread
    picture_step: float     # s of ResNet-20's step of 128 pictures
    ring_hop: float         # s for a small piece to the next member of a ring, on loopback
    ring_byte: float        # s for a byte that a member of a ring sends, receives and adds up
    write: float            # bytes/s of a full checkpoint
    write_delta: float      # bytes/s of a checkpoint of what changed
    load: float             # bytes/s
    cores: int              # of the machine that measured


def distinct(draws, rows):
    """Expected number of distinct ids among draws of floor(rows^u - 1), u uniform: the benchmark's
    power law."""
    if rows == math.inf or draws == 0:
        return 0.0
    total, rank, scale = 0.0, 0, math.log(rows)
    share = lambda low, high: math.log((high + 1) / (low + 1)) / scale  # of ranks [low, high)
    while rank < min(rows, 2000):
        total += -math.expm1(draws * math.log1p(-min(share(rank, rank + 1), 1 - 1e-15)))
        rank += 1
    while rank < rows:  # blocks of ranks that are about as likely
        end = min(rows, rank + max(1, rank // 200))
        total += (end - rank) * -math.expm1(-draws * share(rank, end) / (end - rank))
        rank = end
    return total


def distinct_uniform(draws, rows):
    return rows * -math.expm1(draws * math.log1p(-1 / rows))


def pick(lines, **wanted):
    """The one line that has these values."""
    found = [line for line in lines if all(line.get(k) == v for k, v in wanted.items())]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} lines with {wanted}: is the file what benchmarks/scaling.sh writes?")
    return found[0]


def read(path=MEASURED):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def best(lines, key, **wanted):
    """Other programs only make a machine slower, so the best line counts."""
    return max(line[key] for line in lines if all(line.get(k) == v for k, v in wanted.items()))


def constants_of(measured):
    transport, table = measured["transport"], measured["sparse_table"]
    byte = 1 / (best(transport, "gb_per_s", bytes=1 << 20) * 1e9)
    message = 1 / best(transport, "messages_per_s", bytes=4096, depth=8) - 4096 * byte
    server, client = cpu_of_step(pick(measured["parameter_server"], ids="zipf", trainers=1, servers=1))
    rows = distinct(IDS, BENCH_ROWS)
    update = pick(table, case="update", ids="zipf", store="memory")
    cold = pick(table, case="lookup", ids="uniform", store="disk")
    ring = pick(measured["all_reduce"], engine="trireme", processes=2, megabytes=16)
    hops = pick(measured["all_reduce"], engine="trireme", processes=2, megabytes=0.004)
    save = {line["case"]: line["mb_per_s"] * 1e6 for line in measured["checkpoint"] if "mb_per_s" in line}
    steps = {line["case"]: line["steps_per_second"] for line in measured["train_case"]}
    return Constants(
        message=message, byte=byte, round_trip=1 / best(transport, "messages_per_s", bytes=4096, depth=1),
        server_row=(server - 2 * message) / rows, client_row=(client - 2 * message) / rows,
        update_row=1e-6 / update["million_rows_per_s"],
        cold_row=2e-6 / cold["million_rows_per_s"],  # half of the rows are on disk
        step=1 / steps["deepfm"], picture_step=1 / steps["resnet20"],
        ring_hop=hops["best_ms"] * 1e-3 / 2, ring_byte=ring["best_ms"] * 1e-3 / (ring["megabytes"] * 1e6),
        write=save["write full"], write_delta=save["write delta"], load=save["load both"],
        cores=measured["cores"])


def cpu_of_step(line):
    """Seconds of cores that servers and trainers use for one step of one trainer."""
    steps = line["samples_per_s"] / SAMPLES
    return line["server_cores"] / steps, line["trainer_cores"] / steps
