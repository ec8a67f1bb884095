"""Several threads, and what they may share."""

import threading
import unittest

import numpy as np

import trireme as tr


class Threads(unittest.TestCase):
    def test_one_session_for_each_thread(self):
        program = tr.Program()
        x = program.input("x", tr.f32, ("n", 64))
        y = tr.nn.linear(tr.nn.linear(x, 64, activation="tanh"), 8)
        first = tr.Session(program, threads=1)
        a = np.random.default_rng(1).normal(size=(32, 64)).astype("f4")
        expected = first.run({"x": a}, y)
        results = []

        def work():
            session = tr.Session(program, first, threads=1)
            for _ in range(20):
                results.append(session.run({"x": a}, y))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 80)
        for result in results:
            np.testing.assert_array_equal(result, expected)

    def test_a_session_of_another_thread_is_an_error(self):
        x = tr.Input((3,), name="x")
        model = tr.Model(x, tr.nn.linear(x, 1))
        model.compile("sgd", "mse", threads=1)
        errors = []

        def intrude():
            try:
                model.predict(np.ones((1, 3), "f4"))
            except tr.Error as error:
                errors.append(str(error))

        class Intruder(tr.callbacks.Callback):
            def on_epoch_end(self, epoch, logs):
                thread = threading.Thread(target=intrude)  # while fit() uses the Session
                thread.start()
                thread.join()
                model.predict(np.ones((1, 3), "f4"))  # in the same thread it may be used

        model.fit(np.ones((4, 3)), np.ones((4, 1)), progress=False, callbacks=[Intruder()])
        self.assertEqual(len(errors), 1)
        self.assertIn("another thread uses this Session", errors[0])
        intrude()
        self.assertEqual(len(errors), 1)


if __name__ == "__main__":
    unittest.main()
