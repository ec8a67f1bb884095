"""Jobs from Python, beside the command line and NumPy."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

import numpy as np

import trireme as tr
from trireme.command import program

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "e2e"))
from read_events import fields, records  # noqa: E402


def command():
    try:
        return program()
    except tr.errors.NotFoundError as error:
        raise unittest.SkipTest(str(error)) from None


class InFolder(unittest.TestCase):
    """Works in a new folder, with a CSV file of a plane."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        random = np.random.default_rng(3)
        self.x = random.normal(size=(200, 3))
        self.y = self.x @ [1.0, -2.0, 0.5] + 3 + 0.1 * random.normal(size=200)
        for name, rows in (("train", slice(0, 160)), ("test", slice(160, 200))):
            np.savetxt(f"{name}.csv", np.column_stack([self.x, self.y])[rows], delimiter=",",
                       header="a,b,c,y", comments="")

    def job(self, **train):
        data = {"csv": "train.csv", "target": "y"}
        return {"data": {"train": data, "test": {**data, "csv": "test.csv"}, "batch": 160},
                "model": {"layers": [{"linear": {"units": 1}}]},
                "train": {"loss": "mse", "optimizer": {"sgd": {"learning_rate": 0.1}}, "epochs": 60,
                          **train},
                "output": {"directory": "plane"}}


class Jobs(InFolder):
    def test_a_dict_is_the_job_file_that_it_says(self):
        written = tr.jobs.toml({"a": 1, "b": [1.5, True, "x\"\n\x7fä"], "none": None,
                                "s": {"p": Path("q/r"), "n": np.float32(0.5), "t": {"u v": -1e-7},
                                      "i": float("inf"), "l": [{"x": 1}, {"x": 2}]}})
        self.assertEqual(tomllib.loads(written), {
            "a": 1, "b": [1.5, True, "x\"\n\x7fä"],
            "s": {"p": "q/r", "n": 0.5, "t": {"u v": -1e-7}, "i": float("inf"),
                  "l": [{"x": 1}, {"x": 2}]}})
        with self.assertRaisesRegex(tr.errors.UsageError, "train.x of the job is of type object"):
            tr.jobs.toml({"train": {"x": object()}})

    def test_trains_to_the_solution_of_numpy(self):
        result = tr.jobs.Job(self.job()).run(progress=False)
        self.assertEqual(result.steps, 60)
        columns = np.column_stack([self.x[:160], np.ones(160)])
        best = np.linalg.lstsq(columns, self.y[:160], rcond=None)[0]
        expected = ((np.column_stack([self.x[160:], np.ones(40)]) @ best - self.y[160:]) ** 2).mean()
        self.assertAlmostEqual(result.test["loss"], expected, 4)
        self.assertEqual(len(result.history["loss"]), 60)
        model = tr.load_model(result.saved_model)
        self.assertEqual(len(model.outputs), 1)

    def test_equals_the_command(self):
        Path("plane.toml").write_text(tr.jobs.toml(self.job()), encoding="utf-8")
        own = tr.jobs.Job("plane.toml", output="own", set={"train.epochs": 7}).run(progress=False)
        done = subprocess.run([command(), "train", "plane.toml", "--set", "train.epochs=7",
                               "--json", "--no-sheet"], capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout)
        self.assertEqual(own.steps, theirs["steps"])
        self.assertEqual(own.test["loss"], theirs["test"]["loss"])
        self.assertEqual(sorted(os.listdir("own")), sorted(os.listdir("plane")))

    def test_histograms_in_the_run_folder(self):
        job = self.job(epochs=4)
        job["output"] |= {"run": "run", "histograms_every": 2, "log_every": 1}
        tr.jobs.Job(job).run(progress=False, max_steps=2)
        tr.jobs.Job(job).run(progress=False, resume=True)
        found = [[parts[1].decode() for number, summary in event if number == 5
                  for _, value in fields(summary) for parts in [dict(fields(value))]
                  if 5 in parts or parts[1] == b"train/loss"]
                 for path in sorted(Path("run").glob("events.out.*"))
                 for event in map(lambda e: list(fields(e)), records(path.read_bytes()))]
        tags = [tag for event in found for tag in event]
        self.assertEqual(tags.count("train/loss"), 4)  # once for each step
        self.assertEqual(tags.count("parameters/linear_0.weight"), 2)

    def test_callbacks_stop_it_and_it_is_saved(self):
        class Stop(tr.callbacks.Callback):
            def on_epoch_end(self, epoch, logs):
                self.model.stop_training = epoch == 2

        result = tr.jobs.Job(self.job()).run(progress=False, callbacks=[Stop()])
        self.assertEqual((result.steps, result.history.epoch), (3, [0, 1, 2]))
        self.assertTrue(os.path.isdir(result.saved_model))

    def test_continues_from_a_checkpoint(self):
        whole = tr.jobs.Job(self.job(epochs=4)).run(progress=False)
        tr.jobs.Job(self.job(epochs=4), run="run").run(progress=False, max_steps=2)
        rest = tr.jobs.Job(self.job(epochs=4), run="run").run(progress=False, resume=True)
        self.assertEqual((rest.steps, rest.test), (4, whole.test))

    def test_shows_its_parts(self):
        job = tr.jobs.Job(self.job(), name="plane", seed=5)
        self.assertEqual((job.name, job.epochs, job.classifies), ("plane", 60, False))
        self.assertEqual((len(job.train_data), job.test_data.examples), (1, 40))
        self.assertIsNone(job.validation_data)
        self.assertEqual(job.target_name, "target")
        self.assertEqual(list(job.output.shape), ["batch", 1])
        self.assertIn(job.output.program, [job.program])
        job.check()
        again = tomllib.loads(job.resolved())
        self.assertEqual(again["train"]["seed"], 5)
        self.assertGreater(job.evaluate()["loss"], 1)

    def test_mistakes_name_the_line(self):
        with self.assertRaisesRegex(tr.errors.DataError, r"job:\d+: .*epoch"):
            tr.jobs.Job(self.job(epoch=3))
        with self.assertRaises(tr.errors.NotFoundError):
            tr.jobs.Job("nothing.toml")
        with self.assertRaises(tr.errors.Error):
            tr.jobs.Job(self.job(), set=["train.epochs"])

    def test_describes_and_suggests(self):
        self.assertIn("train", tr.jobs.schema()["properties"])
        self.assertTrue(tr.jobs.catalog())
        text = tr.jobs.suggest_job("train.csv", target="y")
        self.assertEqual(tomllib.loads(text)["data"]["train"]["target"], "y")


if __name__ == "__main__":
    unittest.main()
