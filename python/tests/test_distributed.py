"""Several processes train a Program of Python, beside NumPy."""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import numpy as np

import trireme as tr
from trireme.command import program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Gradient descent on a plane, by 40 batches that are equal. A step of two processes trains two of
# them, and changes the parameters as one does; the number of steps depends on when they meet.
PLANE = textwrap.dedent("""
    import sys
    import numpy as np
    import trireme as tr

    x = np.random.default_rng(3).normal(size=(32, 3)).astype("f4")
    y = (x @ np.float32([[1.0], [-2.0], [0.5]]) + 3).astype("f4")
    program = tr.Program("plane")
    a = program.input("a", tr.f32, ("batch", 3))
    b = program.input("b", tr.f32, ("batch", 1))
    out = tr.nn.linear(a, 1, weight_init=tr.nn.zeros())
    loss = tr.losses.mse(out, b).mean()
    steps = []
    mode = sys.argv[1] if len(sys.argv) > 1 else "all_reduce"
    how = tr.distributed.Distribution(mode=mode, task_batches=1)
    with tr.distributed.join(how) as member:
        trainer = member.trainer(loss, tr.optim.Sgd(0.1))
        batches = tr.data.from_arrays({"a": np.tile(x, (2, 1)), "b": np.tile(y, (2, 1))}).batch(32)
        member.train(trainer, batches, epochs=20, after_step=lambda step, loss: steps.append(step))
        print(f"steps of {member.name}.: {len(steps)}", flush=True)
        if "chief" in sys.argv and member.is_chief and not member.name.endswith("2"):
            raise ValueError("the chief fails")
        if member.is_chief:
            print("loss:", trainer.evaluate(batches)["loss"], flush=True)
            np.savez("plane.npz", **trainer.session.state_dict())
            member.save(trainer, "plane", outputs=[out])
    """)


def descended():
    """The parameters that PLANE has learned after each step, by NumPy, from the first."""
    x = np.random.default_rng(3).normal(size=(32, 3)).astype("f4").astype("f8")
    y = x @ [[1.0], [-2.0], [0.5]] + 3
    w, c = np.zeros((3, 1)), 0.0
    found = []
    for _ in range(40):
        error = x @ w + c - y
        w, c = w - 0.2 * x.T @ error / 32, c - 0.2 * error.mean()
        found.append(np.append(w.ravel(), c))
    return np.array(found)


class Distributed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import trireme._distributed  # noqa: F401

            cls.command = program()
        except (ImportError, tr.errors.NotFoundError) as error:
            raise unittest.SkipTest(str(error)) from None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        Path("plane.py").write_text(PLANE, encoding="utf-8")

    def steps_of_learned(self):
        """The number of steps of gradient descent after which NumPy has the learned parameters."""
        with np.load("plane.npz") as file:
            learned = np.concatenate([file[name].ravel() for name in sorted(file, reverse=True)])
        wrong = np.abs(descended() - learned).max(axis=1)
        self.assertLess(wrong.min(), 1e-5)
        return wrong.argmin() + 1

    def launch(self, *arguments, code=0):
        done = subprocess.run([self.command, "launch", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def test_alone_it_trains_as_fit_does(self):
        subprocess.run([sys.executable, "plane.py"], check=True, capture_output=True, timeout=60)
        self.assertEqual(self.steps_of_learned(), 40)
        self.assertEqual(len(tr.load_model("plane").outputs), 1)

    def test_two_processes_add_up_their_gradients(self):
        output = self.launch("--program", f"{sys.executable} plane.py", "--trainers", "2")
        self.assertEqual(len(re.findall(r"loss:", output)), 1, output)
        steps = [int(step) for step in re.findall(r"steps of trainer_\d+\.: (\d+)", output)]
        self.assertEqual(sum(steps), 40, output)  # each batch by one of them
        # Each may have trained some of them while the other one began or had ended.
        self.assertIn(self.steps_of_learned(), range(max(steps), 41), output)

    def test_another_process_takes_the_place_of_a_chief_that_fails(self):
        output = self.launch("--program", sys.executable, "--trainers", "2", "--servers", "1",
                             "--", "plane.py", "asynchronous", "chief")
        self.assertIn("ValueError: the chief fails", output)
        self.assertEqual(len(re.findall(r"loss:", output)), 1, output)
        self.assertTrue(os.path.isdir("plane"))

    def test_tables_on_servers(self):
        script = os.fspath(EXAMPLES / "clicks_by_processes.py")
        output = self.launch("--program", f"{sys.executable} {script}", "--trainers", "2",
                             "--servers", "2", "--", "12000")
        auc = float(re.search(r"test auc: ([0-9.]+)", output)[1])
        self.assertGreater(auc, 0.65)
        self.assertIn(" 12000 examples", output)
        self.assertEqual(len(tr.load_model("clicks_by_processes").outputs), 1)

    def test_launch_from_python(self):
        tr.distributed.launch("plane.py", trainers=2, name="from-python")
        self.assertIn(self.steps_of_learned(), range(20, 41))
        with self.assertRaisesRegex(tr.errors.UsageError, "ended with code 2"):
            tr.distributed.launch("plane.py", trainers=1, arguments=["geo"])

    def test_launch_of_a_dict(self):
        np.savetxt("rows.csv", np.random.default_rng(1).normal(size=(80, 3)), delimiter=",",
                   header="a,b,y", comments="")
        job = {"data": {"train": {"csv": "rows.csv", "target": "y"}, "batch": 10},
               "model": {"layers": [{"linear": {"units": 1}}]},
               "train": {"loss": "mse", "optimizer": {"sgd": {"learning_rate": 0.01}}, "epochs": 2}}
        tr.distributed.launch(job, name="rows", set={"train.epochs": 3})
        self.assertEqual(len(tr.load_model("rows").inputs), 1)
        self.assertEqual([name for name in os.listdir() if name.endswith(".toml")], [])

    def test_mistakes(self):
        self.assertFalse(tr.distributed.is_launched())
        with self.assertRaisesRegex(tr.errors.UsageError, "staleness"):
            tr.distributed.join(tr.distributed.Distribution(staleness=2))
        with self.assertRaisesRegex(tr.errors.UsageError, "none of the words"):
            tr.distributed.join("quickly")
        x = tr.Input((1,), name="x")
        loss = tr.nn.linear(x, 1).mean()
        with tr.distributed.join("geo") as member:
            self.assertEqual((member.name, member.trainers, member.is_launched), ("", 1, False))
            with self.assertRaisesRegex(tr.errors.UsageError, "sgd, adagrad, adam and ftrl alone"):
                member.trainer(loss, tr.optim.Lamb())
        self.assertIn("python plane.py", self.launch("--program", "plane.py", code=2))


if __name__ == "__main__":
    unittest.main()
