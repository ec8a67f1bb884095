"""The tables of docs/explanation/scaling.md as Markdown."""

import formulas
import simulation
from constants import (BENCH_ROWS, DENSE, IDS, SAMPLES, WIDTH, constants_of, cpu_of_step,
                       distinct_uniform, pick)
from table_bytes import ROW_WISE, checkpoint_bytes, memory_bytes

SEED = 1
CLUSTERS = [(1, 1), (2, 1), (4, 2), (10, 5), (20, 10), (50, 25), (75, 25), (100, 50)]
MODES = {"asynchronous": formulas.asynchronous, "synchronous": formulas.synchronous, "geo": formulas.geo}
STEPS = {"asynchronous": 12, "synchronous": 12, "geo": 80}
MEMBERS = [1, 2, 4, 8, 16, 32, 64, 100]
NETWORKS = [("ResNet-20", 1.1e6, None), ("100 MB, steps of 1 s", 1e8, 1.0)]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def number(value, digits=3):
    """`digits` significant digits, without powers of ten."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text or abs(value) >= 10 ** digits else text


def percent(value):
    return f"{100 * value:.0f}%" if value >= 0.095 else f"{100 * value:.2g}%"


class Model:
    def __init__(self, measured, assumed):
        self.c, self.assumed, self.measured = constants_of(measured), assumed, measured
        self.table_rows = assumed.parameters / WIDTH
        self._rates, self._rings = {}, {}

    def alone(self):
        """Samples a second of one process with a local table."""
        return SAMPLES / self.c.step

    def cluster(self, mode, trainers, servers):
        """Samples a second, closed and simulated, and the servers' utilisation in the
        simulation."""
        key = mode, trainers, servers
        if key not in self._rates:
            step, work = MODES[mode](self.c, self.assumed, trainers, servers, self.table_rows)
            job = simulation.Job(self.c, self.assumed, work, STEPS[mode], SEED)
            rate, busy = job.run(mode, step)
            self._rates[key] = trainers / step * SAMPLES, rate * SAMPLES, busy
        return self._rates[key]

    def ring(self, size, step, members):
        """Seconds of a step, closed and simulated."""
        if (size, members) not in self._rings:
            self._rings[size, members] = self._ring(size, step or self.c.picture_step, members)
        return self._rings[size, members]

    def _ring(self, size, step, members):
        return (formulas.all_reduce(self.c, self.assumed, members, size, step),
                simulation.ring_step(self.c, self.assumed, members, size, step, max(3, 100 // members), SEED))

    def server_bytes(self, servers):
        return self.table_rows * checkpoint_bytes(WIDTH, "adagrad", False) / servers


def constants(m):
    c, us = m.c, 1e6
    return table(["constant", "", "from"], [
        ["a request and its answer, at either end", f"{number(c.message * us)} µs of a core", "`transport`, 4 KiB, 8 under way, the better direction"],
        ["a small request until its answer, on loopback", f"{number(c.round_trip * us)} µs", "`transport`, 4 KiB, one at a time, likewise"],
        ["a distinct row, looked up and pushed, at the server", f"{number(c.server_row * us)} µs of a core", "`parameter_server`, 1 trainer, 1 server, power law"],
        ["the same at the trainer", f"{number(c.client_row * us)} µs of a core", "the same"],
        ["the update alone", f"{number(c.update_row * us)} µs of a core", "`sparse_table`, Zipf"],
        ["a row from disk", f"{number(c.cold_row * us)} µs of a core", "`sparse_table` with half of its rows on disk"],
        ["a step of DeepFM in one process", f"{number(c.step * 1e3)} ms", "`train_case deepfm 1`"],
        ["a step of ResNet-20, 128 pictures", f"{number(c.picture_step * 1e3)} ms", "`train_case resnet20 1`"],
        ["a byte around a ring of two", f"{number(c.ring_byte * 1e9)} ns", "`all_reduce`, 16 MB, the best round"],
        ["a hop in a ring, on loopback", f"{number(c.ring_hop * us)} µs", "`all_reduce`, 4 kB, the best round"],
        ["writing a full checkpoint, a delta", f"{number(c.write / 1e6)}, {number(c.write_delta / 1e6)} MB/s", "`checkpoint`, on a disk"],
        ["loading", f"{number(c.load / 1e6)} MB/s", "`checkpoint`, files just written"],
    ])


def assumptions(m):
    a = m.assumed
    return table(["assumption", ""], [
        ["cores of a parameter server, all as fast as the one that was measured", a.server_cores],
        ["connection of a machine, each way", f"{a.network * 8 / 1e9:g} Gbit/s"],
        ["round trip between machines, beside what the ends compute", f"{a.round_trip * 1e6:g} µs"],
        ["spread of a step's computing", f"log-normal, deviation {percent(a.jitter)}"],
        ["share of computing that all-reduce can hide behind", percent(a.hidden)],
        ["life of a machine", f"{a.node_life / 86400:g} days on average, exponential"],
        ["until a death is noticed, and another process is there", f"{a.notice:g} s, {a.restart:g} s"],
    ])


def servers(m):
    rows = []
    for trainers, count in CLUSTERS:
        row = [trainers, count]
        for mode in MODES:
            closed, simulated, _ = m.cluster(mode, trainers, count)
            row += [f"{number(closed / 1e6)} / {number(simulated / 1e6)}", percent(simulated / (trainers * m.alone()))]
        row.append(percent(m.cluster("asynchronous", trainers, count)[2]))
        rows.append(row)
    return table(["trainers", "servers", "asynchronous", "efficiency", "synchronous", "efficiency", "geo, every 10 steps",
                  "efficiency", "servers busy (asynchronous)"], rows)


def parts(m, trainers=100, count=50):
    """Of a step of one of 100 asynchronous trainers, and what other ways to ask would change."""
    work = formulas.Work(m.c, m.assumed, trainers, count, m.table_rows)
    closed = lambda **how: formulas.asynchronous(m.c, m.assumed, trainers, count, m.table_rows, **how)[0]
    ms = lambda seconds: f"{seconds * 1e3:.2f}"
    rows = [
        ["computing", ms(m.c.step)],
        [f"ordering, copying and checking {number(work.rows)} distinct rows, both ways", ms(2 * work.handling)],
        [f"{2 * count} requests for rows", ms(2 * work.sending)],
        [f"{DENSE} dense parameters, pulled and pushed, asked for together", ms(2 * work.dense)],
        ["**a step, rows fetched ahead**", f"**{ms(closed())}**"],
        ["a step with rows fetched when it begins", ms(closed(prefetch=False))],
        ["a step with dense parameters one after the other", ms(closed(together=False))],
        ["a step with neither", ms(closed(prefetch=False, together=False))],
    ]
    return table([f"{trainers} trainers, {count} servers", "ms"], rows)


def slow(m):
    """One trainer at half speed."""
    rows = []
    for trainers in (2, 10, 50):
        row = [trainers]
        for mode in ("asynchronous", "synchronous"):
            step, work = MODES[mode](m.c, m.assumed, trainers, max(1, trainers // 2), m.table_rows)
            rates = [simulation.Job(m.c, m.assumed, work, 24, SEED, slow=slow).run(mode, step)[0] for slow in (1, 2)]
            row.append(percent(rates[1] / rates[0]))
        rows.append(row)
    return table(["trainers, one at half speed", "asynchronous", "synchronous"], rows)


def rings(m):
    rows = []
    for members in MEMBERS:
        row = [members]
        for _, size, step in NETWORKS:
            closed, simulated = m.ring(size, step, members)
            alone = step or m.c.picture_step
            reduce = formulas.ring(m.c, m.assumed, members, size)
            row += [number(reduce * 1e3), f"{percent(alone / closed)} / {percent(alone / simulated)}"]
        rows.append(row)
    head = ["members"]
    for name, size, _ in NETWORKS:
        head += [f"{name}: all-reduce, ms", "efficiency"]
    return table(head, rows)


def sizes(m):
    rows = m.table_rows
    lines = []
    for rule in ("sgd", "adagrad", "adam", ROW_WISE):
        for float16 in (False, True):
            memory, file = memory_bytes(rows, WIDTH, rule, float16), checkpoint_bytes(WIDTH, rule, float16)
            lines.append(["f16" if float16 else "f32", rule, number(memory), f"{memory * rows / 1e12:.2f}",
                          f"{memory * rows / 50 / 1e9:.1f}", file, f"{file * rows / 1e12:.2f}"])
    return table(["weights", "state", "bytes of a row in memory", "TB in all", "GB on each of 50 servers",
                  "bytes in a checkpoint", "TB in all"], lines)


def checkpoints(m, nodes=100):
    c, a = m.c, m.assumed
    life = a.node_life / nodes
    lines = []
    for servers_ in (25, 50, 100):
        size = m.server_bytes(servers_)
        cost, load = size / c.write, size / c.load
        back = a.notice + a.restart + load
        best = formulas.best_interval(cost, life)
        closed = formulas.lost_work(best, cost, life, back)
        simulated = simulation.lost_work(best, cost, life, back, SEED)
        # Asynchronous: no trainer waits while files are written, and a failed server loses only its
        # own share.
        own = 600 / 2 / life / nodes
        delta = size / 10 / c.write_delta
        lines.append([servers_, number(size / 1e9), number(cost), number(delta), number(back), number(best / 60),
                      f"{percent(closed)} / {percent(simulated)}", f"{number(1e6 * own)} of 10^6"])
    return table(["servers", "GB each", "s to write", "s to write a tenth as a delta", "s until a dead one is back", "best interval of a cut that all wait for, min",
                  "time lost with it", "updates lost without a cut, checkpoints every 10 min"], lines)


def disk(m, trainers=100, count=50):
    work = formulas.Work(m.c, m.assumed, trainers, count, m.table_rows)
    rate = m.cluster("asynchronous", trainers, count)[0]
    lines = []
    for miss in (0, 0.001, 0.01, 0.05, 0.2, 0.5):
        cold = miss * work.rows / count * m.c.cold_row
        # Each server has its part of every step.
        most = m.assumed.server_cores / (2 * work.request + cold) * SAMPLES
        lines.append([percent(miss) if miss else "none", number((work.request + cold) * 1e3), number(most / 1e6),
                      percent(rate / most)])
    return table(["rows of a lookup that lie on disk", "ms of a core for a lookup at one server",
                  f"most M samples/s of {count} servers", f"of which {trainers} trainers ask for"], lines)


def many(count, what):
    return f"{count} {what}" + "s" * (count > 1)


def against_measured(m):
    """What the model says of what was measured beside its constants. Those come from one trainer
    with one server, and from two members with 16 MB and with 4 kB."""
    measured, c = m.measured, m.c
    lines = []
    add = lambda what, found, says, digits=2: lines.append([what, number(found), number(says), f"{says / found:.{digits}f}"])
    for line in measured["parameter_server"]:
        who = f"{many(line['trainers'], 'trainer')}, {many(line['servers'], 'server')}"
        if line["ids"] == "zipf" and (line["trainers"], line["servers"]) != (1, 1):
            add(f"{who}: ms of cores for a step", sum(cpu_of_step(line)) * 1e3,
                formulas.cores_of_step(c, line["servers"]) * 1e3)
    uniform = pick(measured["parameter_server"], ids="uniform", trainers=1, servers=1)
    add("uniform ids: ms of the server's core for a step", cpu_of_step(uniform)[0] * 1e3,
        (distinct_uniform(IDS, BENCH_ROWS) * c.server_row + 2 * c.message) * 1e3)
    add("uniform ids: ms of the trainer's cores for a step", cpu_of_step(uniform)[1] * 1e3,
        (distinct_uniform(IDS, BENCH_ROWS) * c.client_row + 2 * c.message) * 1e3)
    for line in measured["all_reduce"]:
        if line["engine"] == "trireme" and line["megabytes"] > 0.004 and (line["processes"], line["megabytes"]) != (2, 16):
            low, high = (1e3 * t for t in formulas.ring_on_one_machine(c, line["processes"], line["megabytes"] * 1e6))
            says = number(low) if line["processes"] <= c.cores else f"{number(low)} to {number(high)}"
            ratio = f"{low / line['best_ms']:.2f}" + ("" if line["processes"] <= c.cores else f" to {high / line['best_ms']:.2f}")
            lines.append([f"all-reduce of {line['megabytes']:g} MB by {line['processes']}, best ms", number(line["best_ms"]), says, ratio])
    memory = pick(measured["sparse_table"], case="memory", store="memory")
    rows = pick(measured["sparse_table"], case="make", store="memory")["rows"]
    add(f"memory of {rows:,} rows, MB", memory["table_mb"], memory_bytes(rows, WIDTH, "adagrad", False) * rows / 1e6, 3)
    full = pick(measured["checkpoint"], case="write full")
    add(f"checkpoint of {full['rows']:,} rows, MB", full["mb"], checkpoint_bytes(WIDTH, "adagrad", False) * full["rows"] / 1e6, 3)
    return table(["", "measured", "model", "model by measured"], lines)


SECTIONS = {
    "constants": constants, "assumptions": assumptions, "against-measured": against_measured,
    "servers": servers, "parts": parts, "slow": slow, "rings": rings, "sizes": sizes,
    "checkpoints": checkpoints, "disk": disk,
}
