"""Forks, new processes, errors between processes, and Ctrl-C."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import unittest
from pathlib import Path

import numpy as np

import trireme as tr

X = np.random.default_rng(1).normal(size=(512, 64)).astype("f4")


def network():
    program = tr.Program("p")
    x = program.input("x", tr.f32, ("n", 64))
    return program, tr.nn.linear(tr.nn.linear(x, 256, activation="tanh"), 8)


def in_child(function):
    """What a function returns or raises in a child of fork(), which must end within a minute."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            sender.send((function(), ""))
        except BaseException as error:
            sender.send((error, traceback.format_exc()))
        finally:
            os._exit(0)
    try:
        if not receiver.poll(60):
            os.kill(child, signal.SIGKILL)
            raise AssertionError("the child hangs")
        result, trace = receiver.recv()
    finally:
        os.waitpid(child, 0)
    if isinstance(result, BaseException):
        result.add_note(trace)
        raise result
    return result


def learned(epochs):
    """The parameters after a training; for other processes."""
    x = tr.Input((64,), name="x")
    model = tr.Model(x, tr.nn.linear(x, 1))
    model.compile("sgd", "mse", threads=2)
    model.fit(X, X[:, :1], epochs=epochs, progress=False)
    return model.get_weights()


def wrong(_):
    tr.Session(network()[0]).run({"y": X}, [])


class Forks(unittest.TestCase):
    def test_a_session_runs_in_a_child(self):
        program, y = network()
        session = tr.Session(program, threads=4)
        expected = session.run({"x": X}, y)  # its threads run now
        for _ in range(3):
            np.testing.assert_array_equal(in_child(lambda: session.run({"x": X}, y)), expected)
        np.testing.assert_array_equal(session.run({"x": X}, y), expected)

    def test_a_child_compiles_and_destroys(self):
        program, y = network()
        first = tr.Session(program, threads=4)
        expected = first.run({"x": X}, y)
        held = [first]
        del first

        def work():
            result = tr.Session(program, held[0], threads=2).run({"x": X[:9]}, y)
            held.clear()  # does not wait for threads of the parent
            return result

        np.testing.assert_allclose(in_child(work), expected[:9], rtol=1e-5, atol=1e-6)

    def test_a_child_trains(self):
        expected = learned(2)
        for name, value in in_child(lambda: learned(2)).items():
            np.testing.assert_array_equal(value, expected[name])

    def test_arrays_in_a_child(self):
        a = tr.array(X)
        total = (a * 2).sum()
        expected = total.item()
        self.assertEqual(in_child(lambda: (a * 2).sum().item()), expected)

    def test_an_epoch_that_began_before(self):
        batches = tr.data.from_arrays({"x": X}).batch(16)
        epoch = iter(batches)
        next(epoch)
        with self.assertRaisesRegex(tr.errors.UsageError, "begun before the process was forked"):
            in_child(lambda: next(epoch))
        self.assertEqual(in_child(lambda: len(list(batches))), 32)
        in_child(lambda: epoch.__class__)
        self.assertEqual(len(list(epoch)), 31)

    def test_during_a_run_of_another_thread(self):
        program, y = network()
        busy, other = tr.Session(program, threads=1), tr.Session(program, threads=1)
        other.run({"x": X}, y)
        many = np.tile(X, (200, 1))
        running, enough = threading.Event(), threading.Event()

        def work():
            running.set()
            while not enough.is_set():
                busy.run({"x": many}, y)

        thread = threading.Thread(target=work)
        thread.start()
        running.wait()
        try:
            for _ in range(1000):
                try:
                    in_child(lambda: other.run({"x": X}, y))  # it may be between two runs
                except tr.errors.UsageError as error:
                    self.assertIn("forked while another thread ran", str(error))
                    break
            else:
                self.fail("no fork met a run")
        finally:
            enough.set()
            thread.join()
        other.run({"x": X}, y)


class NewProcesses(unittest.TestCase):
    def test_pools_of_both_kinds(self):
        expected = learned(1)
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                for weights in pool.map(learned, [1, 1]):
                    for name, value in weights.items():
                        np.testing.assert_array_equal(value, expected[name])

    def test_errors_arrive(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            with self.assertRaisesRegex(tr.errors.UsageError, "no input of that name") as caught:
                pool.map(wrong, [0])
        self.assertIn("wrong", str(caught.exception.__cause__))

    def test_all_errors_are_pickled_and_printed(self):
        for name in ("Error", "UsageError", "DataError", "NotFoundError", "IoError",
                     "NumericError", "InternalError"):
            kind = getattr(tr.errors, name)
            text = "line 1\n  hint   line 2 é"
            again = pickle.loads(pickle.dumps(kind(text)))
            self.assertIs(type(again), kind)
            self.assertEqual((str(again), again.args), (text, (text,)))
            self.assertIn("hint   line 2 é", "".join(traceback.format_exception(again)))


# Trains until it is interrupted, and reports what the training has left.
TRAINING = textwrap.dedent("""
    import sys
    import numpy as np
    import trireme as tr

    x = tr.Input((64,), name="x")
    model = tr.Model(x, tr.nn.linear(tr.nn.linear(x, 512, activation="tanh"), 1))
    model.compile("sgd", "mse", seed=3, threads=1)
    data = np.random.default_rng(1).normal(size=(4096, 64)).astype("f4")
    def after(step, loss):
        if step == 1:
            print("runs", flush=True)
    follow = tr.callbacks.LambdaCallback(on_train_batch_end=after)
    try:
        model.fit(data, data[:, :1], epochs=int(sys.argv[1]), batch_size=64, progress=False,
                  callbacks=[follow], run="run")
        print("ended", flush=True)
    except KeyboardInterrupt:
        print("stopped", model._trainer.steps, flush=True)
        print(model.predict(data[:2]).shape, flush=True)
        sys.exit(130)
    """)


class Interrupts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def interrupted(self, delay):
        """The number of steps of a training that a signal ends after `delay` seconds of it."""
        process = subprocess.Popen([sys.executable, "-c", TRAINING, "1000000"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "runs\n")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        words = output.split()
        self.assertEqual((words[0], words[2:]), ("stopped", ["(2,", "1)"]), output)
        return int(words[1])

    def test_ctrl_c_ends_a_training_after_a_step_with_a_checkpoint(self):
        for delay in (0, 0.013, 0.2):
            steps = self.interrupted(delay)
            checkpoints = sorted(path.name for path in Path(self.folder, "run", "checkpoints").iterdir()
                                 if path.is_dir())
            self.assertEqual(checkpoints[-1], f"checkpoint-{steps:09}")
            shutil.rmtree(Path(self.folder, "run"))


if __name__ == "__main__":
    unittest.main()
