"""The same jobs as discrete events, with seeded chance: stragglers, requests that wait at servers'
cores, fan-out over all servers, answers that wait for the slowest. Processes are generators; they
yield a time to sleep until, or a Signal to wait for."""

import heapq
import itertools
import math
import random

from constants import LOOKUP_DOWN, PUSH_UP
from formulas import BUCKET, finishing

PUSHES = 4  # of a trainer, under way: ServerTrainingOptions


class Signal:
    def __init__(self):
        self.at, self.waiting = None, []


class Clock:
    """Events in the order of their times; equal times in the order in which they were made."""

    def __init__(self):
        self.now, self.events, self.count = 0.0, [], itertools.count()

    def at(self, time, call):
        heapq.heappush(self.events, (time, next(self.count), call))

    def fire(self, signal, time):
        signal.at = time
        for process in signal.waiting:
            self.at(time, lambda process=process: self.go_on(process))

    def go_on(self, process):
        for wanted in process:
            if isinstance(wanted, Signal):
                if wanted.at is None:
                    wanted.waiting.append(process)
                    return
                wanted = wanted.at
            if wanted > self.now:
                self.at(wanted, lambda: self.go_on(process))
                return

    def run(self):
        while self.events:
            self.now, _, call = heapq.heappop(self.events)
            call()


class Servers:
    """Each has cores that serve the oldest request first, and a connection for answers."""

    def __init__(self, clock, assumed, work):
        self.clock, self.assumed, self.work = clock, assumed, work
        self.cores = [[0.0] * work.cores for _ in range(work.servers)]
        self.links = [0.0] * work.servers
        self.busy = 0.0

    def ask(self, message, answer_bytes):
        """A request to each server, sent one after the other; fires when the last answer is
        there."""
        answered, state = Signal(), [self.work.servers, 0.0]
        for server in range(self.work.servers):
            arrival = self.clock.now + (server + 1) * message + self.work.trip / 2
            self.clock.at(arrival, lambda server=server: self.serve(server, answer_bytes, state, answered))
        return answered

    def serve(self, server, answer_bytes, state, answered):
        free = self.cores[server]
        begin = max(self.clock.now, free[0])
        end = begin + self.work.request
        heapq.heapreplace(free, end)
        self.busy += self.work.request
        self.links[server] = max(self.links[server], end) + answer_bytes / self.assumed.network
        state[0] -= 1
        state[1] = max(state[1], self.links[server] + self.work.trip / 2)
        if state[0] == 0:
            self.clock.fire(answered, state[1])


class Barrier:
    """`after`: seconds from the moment when the last has come."""

    def __init__(self, clock, members, after):
        self.clock, self.members, self.after = clock, members, after
        self.come, self.signal = 0, Signal()

    def enter(self):
        signal = self.signal
        self.come += 1
        if self.come == self.members:
            self.come, self.signal = 0, Signal()
            self.clock.fire(signal, self.clock.now + self.after)
        return signal


class Job:
    """Trainers that make `steps` steps each; the rate is measured after the first quarter."""

    def __init__(self, c, assumed, work, steps, seed, slow=1.0):
        self.c, self.assumed, self.work, self.steps = c, assumed, work, steps
        self.clock = Clock()
        self.servers = Servers(self.clock, assumed, work)
        self.down = work.rows / work.servers * LOOKUP_DOWN
        self.random = [random.Random(seed * 1000 + i) for i in range(work.trainers)]
        self.slow = slow  # factor of the time of the steps of the first trainer
        self.ends = []    # of all steps, in their order

    def compute(self, trainer):
        jitter = self.assumed.jitter
        factor = self.random[trainer].lognormvariate(-jitter * jitter / 2, jitter)
        return self.c.step * factor * (self.slow if trainer == 0 else 1.0)

    def count(self):
        self.ends.append(self.clock.now)

    def asynchronous(self, trainer):
        ask = lambda size: self.servers.ask(self.c.message, size)
        serial = self.work.client + 2 * self.work.dense
        rows, pushes = ask(self.down), []
        while self.clock.now < self.limit:
            yield rows
            rows = ask(self.down)
            yield self.clock.now + serial + self.compute(trainer)
            pushes.append(ask(0))
            if len(pushes) > PUSHES:
                yield pushes.pop(0)
            self.count()

    def synchronous(self, trainer):
        serial = 2 * (self.work.handling + self.work.dense)
        for _ in range(self.steps):
            yield self.servers.ask(self.c.message, self.down)
            yield self.clock.now + serial + self.compute(trainer)
            yield self.servers.ask(self.c.message, 0)
            yield self.barrier.enter()
            self.count()

    def geo(self, trainer, every):
        while self.clock.now < self.limit:
            for _ in range(every):
                yield self.clock.now + self.compute(trainer)
                self.count()
            yield self.clock.now + 2 * (self.work.handling + self.work.dense)
            yield self.servers.ask(self.c.message, 0)
            yield self.servers.ask(self.c.message, self.down)

    def run(self, mode, pace, every=10):
        """Steps a second of all, and the servers' utilisation. pace: about how long a step
        takes."""
        self.limit = self.steps * pace
        self.barrier = Barrier(self.clock, self.work.trainers, finishing(self.c, self.work))
        for trainer in range(self.work.trainers):
            process = {"asynchronous": self.asynchronous, "synchronous": self.synchronous,
                       "geo": lambda t: self.geo(t, every)}[mode](trainer)
            start = 0.0 if mode == "synchronous" else trainer * pace / self.work.trainers
            self.clock.at(start, lambda process=process: self.clock.go_on(process))
        self.clock.run()
        if mode == "synchronous":
            first = len(self.ends) // 4
            rate = (len(self.ends) - first) / (self.ends[-1] - self.ends[first - 1])
        else:
            counted = sum(self.limit / 4 < end <= self.limit for end in self.ends)
            rate = counted / (self.limit * 3 / 4)
        return rate, self.servers.busy / (self.work.servers * self.work.cores * self.clock.now)


def ring_step(c, assumed, members, size, step, steps, seed):
    """Mean seconds of a step with all-reduce: every member computes, then passes its pieces on, hop
    by hop; a piece leaves when it has come and the one before it has left."""
    if members == 1:
        return step
    chance = random.Random(seed)
    jitter = assumed.jitter
    buckets = math.ceil(size / BUCKET)
    piece = size / buckets / members * max(1 / assumed.network, c.ring_byte)
    hop = assumed.round_trip / 2 + c.ring_hop
    ready = [0.0] * members
    for _ in range(steps):
        begun = [t + step * chance.lognormvariate(-jitter * jitter / 2, jitter) for t in ready]
        times = [t - assumed.hidden * step for t in begun]  # when the first bucket is full
        for _ in range(buckets):
            for _ in range(2 * (members - 1)):
                times = [max(times[i], times[i - 1]) + piece + hop for i in range(members)]
        ready = [max(a, b) for a, b in zip(begun, times)]
        together = max(ready)
        ready = [together] * members  # the barrier that commits the step
    return ready[0] / steps


def lost_work(interval, cost, life, back, seed, failures=4000):
    """Share of time that is lost where a failure undoes everything since the last checkpoint:
    checkpoints, what is computed again, and `back` seconds until it goes on."""
    chance = random.Random(seed)
    useful = spent = 0.0
    for _ in range(failures):
        until = chance.expovariate(1 / life)
        spent += until + back
        useful += int(until / (interval + cost)) * interval
    return 1 - useful / spent
