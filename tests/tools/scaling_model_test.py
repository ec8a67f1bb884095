"""The cost model against what is independent of it: queueing theory, enumeration, sampling; and the
page against the model."""

import math
import os
import random
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tools/scaling"))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import constants  # noqa: E402
import formulas  # noqa: E402
import picture  # noqa: E402
import scaling_model  # noqa: E402
import simulation  # noqa: E402
import table_bytes  # noqa: E402
import tables  # noqa: E402

C = constants.Constants(
    message=20e-6, byte=0.5e-9, round_trip=100e-6, server_row=0.2e-6, client_row=0.5e-6, update_row=0.05e-6,
    cold_row=5e-6, step=3e-3, picture_step=0.25, ring_hop=50e-6, ring_byte=1e-9, write=2e8, write_delta=1e8,
    load=1e9, cores=2)
CALM = constants.Assumptions(jitter=0.0)
ROWS = 1e8


class Page(unittest.TestCase):
    def test_has_what_the_model_says(self):
        model = tables.Model(constants.read(), constants.Assumptions())
        with open(scaling_model.PAGE, encoding="utf-8") as page:
            text = page.read()
        self.assertEqual(scaling_model.blocks_of_page(text), scaling_model.blocks(model),
                         "run tools/scaling_model.py --page")
        with open(scaling_model.PICTURE, encoding="utf-8") as drawn:
            self.assertEqual(drawn.read(), picture.draw(model), "run tools/scaling_model.py --page")

    def test_marks(self):
        text = "a\n<!-- model: x -->\nold\n<!-- model: end -->\nb\n"
        self.assertEqual(scaling_model.fill(text, {"x": "new"}), text.replace("old", "new"))
        with self.assertRaises(SystemExit):
            scaling_model.fill(text, {"y": "new"})


class Ids(unittest.TestCase):
    def test_distinct_is_what_drawing_finds(self):
        chance = random.Random(5)
        for draws, rows in ((500, 200), (3000, 100_000)):
            found = [len({int(rows ** chance.random() - 1) for _ in range(draws)}) for _ in range(30)]
            mean = sum(found) / len(found)
            self.assertAlmostEqual(constants.distinct(draws, rows) / mean, 1, delta=0.01)
        found = [len({chance.randrange(1000) for _ in range(700)}) for _ in range(30)]
        self.assertAlmostEqual(constants.distinct_uniform(700, 1000) / (sum(found) / 30), 1, delta=0.01)


class Rows(unittest.TestCase):
    def test_strides_as_the_pool_has_them(self):
        # Rows of at most 64 bytes: powers of two; longer ones: multiples of 16.
        self.assertEqual([table_bytes.stride(n) for n in (1, 4, 5, 36, 64, 65, 68, 128, 130)],
                         [4, 4, 8, 64, 64, 80, 80, 128, 144])

    def test_places_stay_three_quarters_full_at_most(self):
        for count in range(1, 3000):
            n = table_bytes.places(count)
            self.assertLessEqual(count * 4, n * 3)
            self.assertTrue(n == 4 or count * 4 > n // 2 * 3)

    def test_index_is_what_drawing_slots_finds(self):
        chance = random.Random(3)
        for rows in (40_000, 1_600_000):
            counts = [0] * table_bytes.SLOTS
            for _ in range(rows):
                counts[chance.randrange(table_bytes.SLOTS)] += 1
            found = sum(map(table_bytes.places, counts)) * table_bytes.ENTRY / rows
            self.assertAlmostEqual(table_bytes.index_bytes(rows) / found, 1, delta=0.01)

    def test_bytes_that_the_documents_tell(self):
        # src/distributed/table/README.md, and docs/reference/distributed-jobs.md: 148 MB for 10^6
        # rows.
        self.assertAlmostEqual(table_bytes.memory_bytes(1e7, 16, "adagrad", False), 128 + 12 + 27, delta=0.5)
        self.assertEqual(table_bytes.checkpoint_bytes(16, "adagrad", False), 148)
        self.assertEqual(table_bytes.weight_bytes(5, True), 12)
        self.assertEqual(table_bytes.checkpoint_bytes(16, "sgd", True), 8 + 32 + 12)


class Formulas(unittest.TestCase):
    def test_the_longest_of_many(self):
        chance = random.Random(1)
        for count in (2, 10, 100):
            drawn = [max(chance.lognormvariate(-0.005, 0.1) for _ in range(count)) for _ in range(2000)]
            self.assertAlmostEqual(formulas.expected_max(count, 0.1), sum(drawn) / len(drawn), delta=0.01)

    def test_waiting_at_one_core_is_that_of_pollaczek_and_khinchine(self):
        for load in (0.3, 0.9):
            self.assertAlmostEqual(formulas.queueing(2.0, load, 1), 2.0 * load / (2 * (1 - load)))
        self.assertEqual(formulas.queueing(2.0, 1.0, 8), math.inf)

    def test_no_rate_beats_the_servers(self):
        step, work = formulas.asynchronous(C, CALM, 5000, 1, ROWS)
        self.assertAlmostEqual(work.utilisation(step), 1, delta=0.01)

    def test_a_ring_of_more_members_than_cores(self):
        low, high = formulas.ring_on_one_machine(C, 4, 1e6)
        self.assertAlmostEqual(low, 1.5e6 * 1e-9 + 6 * 50e-6)
        self.assertAlmostEqual(high, 2 * 1.5e6 * 1e-9 + 6 * 50e-6)

    def test_a_ring_of_two_moves_all_once(self):
        size = 64 << 20
        time = formulas.ring(C, CALM, 2, size)
        hops = 16 * 2 * (25e-6 + 50e-6)
        # A core is slower than the network.
        self.assertAlmostEqual(time, size * 1e-9 + hops, delta=1e-9)
        self.assertEqual(formulas.ring(C, CALM, 1, size), 0)


class Simulation(unittest.TestCase):
    def rate(self, mode, trainers, servers, assumed=CALM, steps=20, **options):
        step, work = tables.MODES[mode](C, assumed, trainers, servers, ROWS)
        rate, busy = simulation.Job(C, assumed, work, steps, 1, **options).run(mode, step)
        return rate, trainers / step, busy, work

    def test_agrees_with_the_closed_forms_where_nothing_queues(self):
        for mode in ("asynchronous", "synchronous"):
            simulated, closed, _, _ = self.rate(mode, 1, 4)
            self.assertAlmostEqual(simulated / closed, 1, delta=0.03, msg=mode)
        simulated, closed, _, _ = self.rate("geo", 3, 4, steps=200)
        self.assertAlmostEqual(simulated / closed, 1, delta=0.03)

    def test_work_is_kept(self):
        rate, _, busy, work = self.rate("asynchronous", 8, 2, steps=60)
        self.assertAlmostEqual(busy, rate / 8 * 8 * 2 * work.request / work.cores, delta=0.15 * busy)

    def test_one_core_waits_as_long_as_theory_says(self):
        # Requests by chance at one core that takes 1 s for each: the mean wait of M/D/1.
        assumed = constants.Assumptions(server_cores=1, network=math.inf, round_trip=0.0)
        still = constants.Constants(**{**C.__dict__, "message": 1.0, "server_row": 0.0, "round_trip": 0.0})
        work = formulas.Work(still, assumed, 1, 1, ROWS)
        clock = simulation.Clock()
        servers = simulation.Servers(clock, assumed, work)
        chance, time, waits = random.Random(2), 0.0, []

        def one():
            begun = clock.now
            answered = servers.ask(0.0, 0)
            yield answered
            waits.append(clock.now - begun - 1.0)
        for _ in range(20000):
            time += chance.expovariate(0.7)
            clock.at(time, lambda: clock.go_on(one()))
        clock.run()
        self.assertAlmostEqual(sum(waits) / len(waits), formulas.queueing(1.0, 0.7, 1), delta=0.06)

    def test_the_same_seed_gives_the_same(self):
        assumed = constants.Assumptions()
        first, second = self.rate("asynchronous", 5, 3, assumed), self.rate("asynchronous", 5, 3, assumed)
        self.assertEqual(first[:3], second[:3])

    def test_a_slow_trainer_holds_up_synchronous_ones_alone(self):
        for mode, least, most in (("asynchronous", 0.9, 1.0), ("synchronous", 0.5, 0.9)):
            rates = [self.rate(mode, 10, 5, slow=slow)[0] for slow in (1, 2)]
            self.assertTrue(least < rates[1] / rates[0] < most, (mode, rates))

    def test_a_ring_without_chance_is_its_closed_form(self):
        for members, size in ((2, 1e6), (8, 3e7)):
            closed = formulas.all_reduce(C, CALM, members, size, 0.1)
            simulated = simulation.ring_step(C, CALM, members, size, 0.1, 2, 1)
            self.assertAlmostEqual(simulated / closed, 1, delta=0.02)

    def test_lost_work(self):
        best = formulas.best_interval(30, 30000)
        for interval in (best / 2, best, best * 2):
            closed = formulas.lost_work(interval, 30, 30000, 60)
            self.assertAlmostEqual(simulation.lost_work(interval, 30, 30000, 60, 1) / closed, 1, delta=0.08)
            self.assertGreaterEqual(closed, formulas.lost_work(best, 30, 30000, 60))


if __name__ == "__main__":
    unittest.main()
