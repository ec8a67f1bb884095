"""Weights of few bits, packed models, pruning and hashing, against NumPy."""

import tempfile
import unittest

import numpy as np

import trireme as tr


def points(count=400):
    x = np.random.default_rng(3).uniform(-1, 1, (count, 8)).astype("f4")
    return x, (x[:, 0] - 2 * x[:, 5] > 0).astype("i8")


def murmur(h):
    h = h.astype("u4")
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ (h >> np.uint32(shift))) * np.uint32(factor)
    return h ^ (h >> np.uint32(16))


class Forms(unittest.TestCase):
    def test_binary_and_ternary_weights(self):
        program = tr.Program()
        w = program.parameter("w", (6, 3))
        forms = [tr.nn.binary_weight(w, axis=1), tr.nn.ternary_weight(w, axis=1),
                 tr.nn.power_of_two_weight(w, bits=4), tr.nn.weight_in_form(w, "binary", 1)]
        session = tr.Session(program)
        values = np.random.default_rng(1).normal(size=(6, 3)).astype("f4")
        session.set_parameter("w", values)
        binary, ternary, powers, same = session.run({}, forms)
        sizes = np.abs(values)
        np.testing.assert_allclose(binary, np.sign(values) * sizes.mean(0), rtol=1e-6)
        np.testing.assert_array_equal(binary, same)
        kept = sizes > 0.7 * sizes.mean(0)
        scale = (sizes * kept).sum(0) / kept.sum(0)
        np.testing.assert_allclose(ternary, np.sign(values) * kept * scale, rtol=1e-6)
        np.testing.assert_array_equal(np.log2(np.abs(powers[powers != 0])) % 1, 0)

    def test_hashed_embedding(self):
        ids = tr.Input((), dtype=tr.i64, name="ids", program=tr.Program())
        row = tr.nn.hashed_embedding(ids, 10, 4, hashes=1, seed=5, name="table")
        session = tr.Session(row.program)
        table = np.random.default_rng(1).normal(size=(10, 4)).astype("f4")
        session.set_parameter("table.weight", table)
        given = np.array([0, 3, 12345678, 2**31], "i8")
        with np.errstate(over="ignore"):
            salt = murmur(np.array([5 + 0x9E3779B9], "u4"))
            key = given.astype("u4") ^ murmur(np.zeros(4, "u4"))
            hashed = murmur(murmur(key ^ salt) + salt)
        places = (hashed.astype("u8") * np.uint64(10)) >> np.uint64(32)
        np.testing.assert_array_equal(session.run({"ids": given}, row), table[places.astype(int)])


class Packing(unittest.TestCase):
    def test_a_packed_model_predicts_the_same(self):
        x, y = points()
        image = tr.Input((8,), name="x")
        h = tr.nn.batch_norm(tr.nn.linear(image, 64))
        h = tr.nn.linear(tr.nn.binarize(h), 64, weight_form="binary")
        model = tr.Model(image, tr.nn.linear(tr.nn.relu(tr.nn.batch_norm(h)), 2,
                                             weight_form="log4"))
        model.compile(tr.optim.Adam(lr=0.01), "cross_entropy", metrics=["accuracy"], seed=1)
        model.fit(x, y, epochs=15, progress=False)
        self.assertGreater(model.evaluate(x, y)["accuracy"], 0.9)
        expected = model.predict(x)
        small = tr.compression.pack_weights(model.program, model.session, model.outputs)
        self.assertEqual([(w.bits, w.counts_bits) for w in small.weights], [(1, True), (4, False)])
        with tempfile.TemporaryDirectory() as folder:
            tr.save_model(small.program, small.session, folder + "/m",
                          outputs=small.program.outputs)
            result = tr.load_model(folder + "/m").predict({"x": x})[0]
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(tr.errors.UsageError, "max_bits"):
            tr.compression.pack_weights(model.program, model.session, model.outputs, max_bits=0)


class SmallModels(unittest.TestCase):
    def test_tables_of_codes(self):
        ids = tr.Input((), dtype=tr.i64, name="ids")
        model = tr.Model(ids, tr.nn.embedding(ids, 300, 8, name="table"))
        small = tr.compression.product_quantize(model.program, model.session, model.outputs,
                                                parts=4, centroids=16)
        self.assertEqual(small.bytes, 300 * 4 + 16 * 8 * 4)
        codes = small.session.parameter("table.weight.codes")
        centroids = small.session.parameter("table.weight.centroids").reshape(4, 16, 2)
        given = np.array([5, 299, 0], "i8")
        expected = np.stack([np.concatenate([centroids[p, codes[i, p]] for p in range(4)])
                             for i in given])
        result = small.session.run({"ids": given}, small.program.outputs[0])
        np.testing.assert_array_equal(result, expected)
        table = model.get_weights()["table.weight"].reshape(300, 4, 2)
        distances = ((table[:, :, None] - centroids[None]) ** 2).sum(-1)
        self.assertGreater((distances.argmin(-1) == codes).mean(), 0.95)

    def test_low_rank(self):
        x = tr.Input((30,), name="x")
        model = tr.Model(x, tr.nn.linear(x, 20, name="fc"))
        random = np.random.default_rng(1)
        weight = (random.normal(size=(30, 2)) @ random.normal(size=(2, 20))).astype("f4")
        model.set_weights({"fc.weight": weight}, strict=False)
        small = tr.compression.factorize(model.program, model.session, model.outputs, energy=0.999)
        self.assertEqual([(w.rank, w.full_rank) for w in small.weights], [(2, 20)])
        self.assertEqual(small.parameters, 2 * 50 + 20)
        given = random.normal(size=(4, 30)).astype("f4")
        result = small.session.run({"x": given}, small.program.outputs[0])
        np.testing.assert_allclose(result, given @ weight, rtol=1e-3, atol=1e-3)

    def test_channels(self):
        x = tr.Input((6,), name="x")
        model = tr.Model(x, tr.nn.linear(tr.nn.linear(x, 10, activation="relu", name="a"), 3))
        small = tr.compression.prune_channels(model.program, model.session, model.outputs,
                                              ratio=0.4)
        self.assertEqual([(g.weights, g.before, g.after) for g in small.groups],
                         [(["a.weight"], 10, 6)])
        weight = model.get_weights()["a.weight"]
        kept = np.sort(np.argsort(np.abs(weight).sum(0), kind="stable")[4:])
        np.testing.assert_array_equal(small.session.parameter("a.weight"), weight[:, kept])
        with self.assertRaisesRegex(tr.errors.UsageError, "criterion"):
            tr.compression.prune_channels(model.program, model.session, model.outputs,
                                          criterion="l3")

    def test_a_teacher(self):
        x, y = points()
        image = tr.Input((8,), name="x")
        large = tr.Model(image, tr.nn.linear(tr.nn.linear(image, 32, activation="relu"), 2))
        large.compile(tr.optim.Adam(lr=0.01), "cross_entropy", seed=1)
        large.fit(x, y, epochs=20, progress=False)
        with tempfile.TemporaryDirectory() as folder:
            large.save(folder + "/large")
            program = tr.Program()
            image = tr.Input((8,), name="x", program=program)
            teacher = tr.compression.Teacher(tr.load_model(folder + "/large"), {"x": image})
        student = tr.nn.linear(image, 2, name="student")
        loss = tr.mean(tr.nn.distillation(student, teacher.outputs[0], temperature=2.0))
        trainer = tr.Trainer(loss, tr.optim.Adam(lr=0.05), [], seed=1)
        teacher.load(trainer.session)
        for _ in range(150):
            trainer.step({"x": x})
        scores, wanted = trainer.session.run({"x": x}, [student, teacher.outputs[0]])
        np.testing.assert_allclose(wanted, large.predict(x), rtol=1e-5, atol=1e-5)
        self.assertGreater((scores.argmax(1) == wanted.argmax(1)).mean(), 0.95)


class Masks(unittest.TestCase):
    def test_pruning_in_a_fit(self):
        x, y = points()
        for options in ({}, {"movement": True}, {"dense_gradients": True}):
            image = tr.Input((8,), name="x")
            model = tr.Model(image, tr.nn.linear(image, 2, name="fc"))
            names = tr.compression.add_masks(model.program, parameters=["fc.*"], **options)
            self.assertEqual(names, ["fc.weight", "fc.bias"])
            model.compile(tr.optim.Adam(lr=0.02), "cross_entropy", metrics=["accuracy"], seed=1)
            pruning = tr.compression.Pruning(sparsity=0.5, begin=10, end=100, every=10,
                                             splice="dense_gradients" in options)
            rewinding = tr.compression.Rewinding(5)
            model.fit(x, y, epochs=30, progress=False, callbacks=[pruning, rewinding])
            self.assertEqual(tr.compression.mask_sparsity(model.session), 0.5)
            self.assertGreater(model.evaluate(x, y)["accuracy"], 0.95)
            weight = model.get_weights()["fc.weight"]
            tr.compression.apply_masks(model.session)
            mask = model.get_weights()["fc.weight.mask"]
            np.testing.assert_array_equal(model.get_weights()["fc.weight"], weight * mask)
            self.assertTrue(mask[[0, 5]].any())
            rewinding.rewind(model.session)
            self.assertLess(np.abs(model.get_weights()["fc.weight"]).max(),
                            np.abs(weight).max())
            tr.compression.update_masks(model.session, sparsity=0.9)
            self.assertAlmostEqual(tr.compression.mask_sparsity(model.session), 16 / 18)

    def test_errors(self):
        image = tr.Input((8,), name="x")
        model = tr.Model(image, tr.nn.linear(image, 2))
        with self.assertRaisesRegex(tr.errors.UsageError, "no masks"):
            tr.compression.apply_masks(model.session)
        with self.assertRaisesRegex(tr.errors.NotFoundError, "matches"):
            tr.compression.add_masks(model.program, parameters=["conv.*"])
        with self.assertRaisesRegex(tr.errors.UsageError, r"in \[0, 1\)"):
            tr.compression.Pruning(sparsity=1.0)


if __name__ == "__main__":
    unittest.main()
