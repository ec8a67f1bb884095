"""Closed forms: what a step of N trainers costs. Seconds throughout."""

import math
from statistics import NormalDist

from constants import BENCH_ROWS, DENSE, DENSE_BYTES, IDS, LOOKUP_DOWN, PUSH_UP, distinct

BUCKET = 4 << 20  # bytes: BucketedAllReduce


def expected_max(count, jitter):
    """Of the longest of `count` log-normal times with mean 1: at Blom's quantile (Blom 1958)."""
    quantile = NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
    return math.exp(jitter * quantile - jitter * jitter / 2) if count > 1 else 1.0


def queueing(service, load, cores):
    """Mean wait for one of `cores` where requests come by chance and all take the same time
    (Sakasegawa 1977); endless at full load."""
    if load >= 1:
        return math.inf
    return service / (2 * cores) * load ** (math.sqrt(2 * (cores + 1)) - 1) / (1 - load)


class Work:
    """What a step asks of a trainer and of each server."""

    def __init__(self, constants, assumed, trainers, servers, table_rows, batches=1):
        c = constants
        self.trainers, self.servers, self.cores = trainers, servers, assumed.server_cores
        self.rows = distinct(IDS * batches, table_rows)
        self.handling = self.rows * c.client_row / 2  # of rows or gradients, not overlapped
        self.sending = servers * c.message            # a lookup or a push, to all servers
        self.client = 2 * (self.handling + self.sending)
        self.request = c.message + self.rows / servers * c.server_row / 2  # at one server
        self.trip = assumed.round_trip + c.round_trip
        self.down = self.rows / servers * LOOKUP_DOWN / assumed.network
        # Pulled or pushed, one after the other or asked for together.
        bytes_of_dense = DENSE_BYTES * (c.byte + 1 / assumed.network)
        self.dense_alone = DENSE * (self.trip + c.message) + bytes_of_dense
        self.dense = self.trip + DENSE * c.message + bytes_of_dense
        # What no pace of the trainers can beat: the servers' cores, their connections, a trainer's
        # connection.
        at_server = trainers * self.rows / servers * PUSH_UP / assumed.network
        self.least = max(trainers * 2 * self.request / self.cores, at_server,
                         self.rows * PUSH_UP / assumed.network)

    def utilisation(self, step):
        """Of the cores of servers, when each trainer takes `step` seconds for a step."""
        return self.trainers * 2 * self.request / (self.cores * step)

    def latency(self, step):
        """Of a lookup: the slowest of the servers answers last."""
        slowest = sum(1 / i for i in range(1, self.servers + 1))
        wait = queueing(self.request, self.utilisation(step), self.cores)
        return self.trip + self.request + self.down + slowest * wait


def settle(step_of, least):
    """The fixed point of a step that falls as the pace falls."""
    low, high = least, max(least, 1e-6)
    while step_of(high) > high:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if step_of(middle) > middle else (low, middle)
    return high


def asynchronous(c, assumed, trainers, servers, table_rows, prefetch=True, together=True):
    """With `prefetch`, the rows of the next batch arrive during the present one; with `together`,
    all dense parameters are one request."""
    work = Work(c, assumed, trainers, servers, table_rows)
    dense = 2 * (work.dense if together else work.dense_alone)

    def step(pace):
        wait = work.latency(pace)
        computing = c.step + dense
        return work.client + (max(computing, wait) if prefetch else computing + wait)
    return settle(step, work.least), work


def synchronous(c, assumed, trainers, servers, table_rows):
    """All look up at once; the slowest computes last; each server then applies what all have
    pushed, in one thread."""
    work = Work(c, assumed, trainers, servers, table_rows)
    burst = max(work.request, trainers * work.request / work.cores)
    slowest = expected_max(trainers, assumed.jitter) * c.step
    return (work.client + 2 * work.dense + work.trip + work.down + burst + slowest
            + work.trip + work.request + finishing(c, work)), work


def finishing(c, work):
    """A synchronous step's end: a request to all servers, who apply the gradients of all and
    answer."""
    apply = work.trainers * (work.rows / work.servers * c.update_row + c.message)
    return work.servers * c.message + work.trip + apply


def geo(c, assumed, trainers, servers, table_rows, every=10):
    """Steps on the trainer's own copy; every tenth time what changed goes to the servers, and
    theirs comes back."""
    work = Work(c, assumed, trainers, servers, table_rows, batches=every)
    step = settle(lambda pace: every * c.step + work.client + 2 * work.dense + 2 * work.latency(pace),
                  work.least)
    return step / every, work


def ring(c, assumed, members, size):
    """An all-reduce of `size` bytes: each member sends and receives 2 (n - 1) / n of it, bucket by
    bucket, in 2 (n - 1) hops each."""
    if members == 1:
        return 0.0
    moved = 2 * (members - 1) / members * size
    hops = math.ceil(size / BUCKET) * 2 * (members - 1)
    return moved * max(1 / assumed.network, c.ring_byte) + hops * (assumed.round_trip / 2 + c.ring_hop)


def all_reduce(c, assumed, members, size, step):
    time = ring(c, assumed, members, size)
    return expected_max(members, assumed.jitter) * step + time - min(assumed.hidden * step, time)


def best_interval(cost, life):
    """Between checkpoints that cost so much, where one failure undoes all since the last one (Young
    1974)."""
    return math.sqrt(2 * cost * life)


def lost_work(interval, cost, life, back):
    """Share of time lost to checkpoints, to work that is done again and to coming back, where few
    fail in an interval."""
    return 1 - interval / (interval + cost) * (1 - (interval / 2 + cost / 2 + back) / (life + back))


def cores_of_step(c, servers):
    """Seconds of cores that a step of the benchmark costs, of its trainer and its servers."""
    return distinct(IDS, BENCH_ROWS) * (c.client_row + c.server_row) + 4 * servers * c.message


def ring_on_one_machine(c, members, size):
    """Least and most seconds of an all-reduce over loopback: every member has a core, or the work
    of all has those of the machine."""
    moved = 2 * (members - 1) / members * size * c.ring_byte
    hops = math.ceil(size / BUCKET) * 2 * (members - 1) * c.ring_hop
    return moved + hops, moved * max(1, members / c.cores) + hops
