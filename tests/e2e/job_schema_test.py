"""The JSON Schema of job files, checked by jsonschema: it accepts every job of examples/jobs, and
refuses the mistakes that Trireme refuses.

usage: job_schema_test.py TRIREME JOBS_FOLDER
"""

import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest

import jsonschema

TRIREME, JOBS = "", ""

GOOD = {
    "data": {"train": "fashion_mnist/train", "batch": 32},
    "model": {"layers": [
        {"conv2d": {"channels": 8, "kernel": [3, 5], "padding": "same", "activation": "relu"}},
        {"max_pool": {"kernel": 2}}, "flatten",
        {"linear": {"units": 10, "parameters": {"frozen": True}}}]},
    "train": {"loss": "cross_entropy", "optimizer": {"adam": {"beta1": 0.8}},
              "schedule": {"one_cycle": {"warmup_steps": 3}}, "epochs": 2},
}

# A path into GOOD, and the value that replaces it.
MISTAKES = [
    (["data", "batch"], 0),
    (["data", "batch"], "64"),
    (["data", "bathc"], 64),
    (["data", "validation_split"], 1),
    (["data", "workers"], 257),
    (["model", "layers", 0], {"conv2d": {}}),
    (["model", "layers", 0], {"conv2d": {"channels": 8, "padding": "some"}}),
    (["model", "layers", 0], {"conv2d": {"channels": 8, "kernel": [3, 3, 3]}}),
    (["model", "layers", 0], {"conv2d": {"channels": 8, "kernel": 0}}),
    (["model", "layers", 0], {"conv2d": {"channels": 8, "activation": "rellu"}}),
    (["model", "layers", 1], "conv2d"),
    (["model", "layers", 1], {"max_pool": {}, "flatten": {}}),
    (["model", "layers", 1], {"max_pool": {"count_include_pad": True}}),
    (["model", "layers", 2], "flaten"),
    (["model", "layers", 3, "linear", "parameters", "forzen"], True),
    (["train", "loss"], "cross_entropie"),
    (["train", "optimizer"], {"adam": {"beta1": 1}}),
    (["train", "optimizer"], {"ftrl": {"weight_decay": 1}}),
    (["train", "optimizer"], {"sgd": {"learning_rate": 0}}),
    (["train", "schedule"], "multi_step"),
    (["train", "clip"], {"value": -1}),
    (["train", "average"], {"exponential": {"decay": 2}}),
    (["train", "epochs"], -1),
    (["train", "early_stopping"], {"patience": 0}),
    (["model"], {"name": "resnet21"}),
    (["model"], {"name": "resnet20", "widths": 1}),
    (["model"], {"name": "resnet20", "small_input": True}),
    (["model"], {"name": "resnet34", "stride_in_3x3": True}),
    (["model"], {"name": "mlp", "hidden": [0]}),
    (["model"], {"name": "mlp", "weight_init": "xavier"}),
    (["model"], {"name": "mlp", "crosses": []}),
    (["data", "augment"], ["flipp"]),
    (["data", "augment"], [{"random_crop": {}}]),
    (["data", "augment"], [{"cutout": {"size": 0}}]),
    (["data", "train"], {"csv": "adult.csv", "separater_": ";"}),
    (["data", "train"], {"csv": "adult.csv", "missing": True}),
    (["data", "train"], {"images": "images.gz"}),
    (["data", "train"], {"folders": "flowers"}),
    (["data", "text"], {"tokens": "word"}),
    (["data", "text"], {"min_cuont": 2}),
    (["data", "text"], {"skip_grams": {"windows": 3}}),
    (["train", "metrics"], ["accuracy_of"]),
    (["train", "metrics"], [{"top_k_accuracy": {"k": 0}}]),
    (["train", "metrics"], [{"auc": {"bins": 4}}]),
    (["train", "metrics"], [{"f1": {"average": "mean"}}]),
    (["output"], {"log_every": 0}),
    (["checkpoint"], {"every_seconds": -1}),
    (["distributed"], {"mode": "all"}),
    (["distributed"], {"task_batches": 0}),
    (["tests"], {}),
]

# The same, with values that are right.
CHANGES = [
    (["model"], {"name": "resnet20", "width": 0.5, "shortcut": "project"}),
    (["model"], {"name": "resnet50", "small_input": True, "stride_in_3x3": True}),
    (["model"], {"name": "mlp", "hidden": [], "activation": "tanh", "classes": 10}),
    (["model"], {"name": "resnet20", "weight_init": "orthogonal", "decay_biases": False}),
    (["model"], {"name": "transformer_encoder", "patch": [4, 7], "layers": 1}),
    (["data", "augment"], ["flip", {"random_crop": {"size": 28, "padding": 2}}]),
    (["train", "metrics"], ["accuracy", {"top_k_accuracy": {"k": 3}}, {"f1": {"class": 2}}]),
]


def changed(path, value):
    job = copy.deepcopy(GOOD)
    place = job
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return job


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value)


def inspect(job):
    """The exit code of `trireme inspect` of the job, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.toml")
        with open(path, "w", encoding="utf-8") as file:
            for key, table in job.items():
                file.write(f"[{key}]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in table.items()))
        done = subprocess.run([TRIREME, "inspect", path], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class JobSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(subprocess.check_output([TRIREME, "job", "schema"]))
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_jobs_of_the_examples_are_valid(self):
        paths = sorted(glob.glob(os.path.join(JOBS, "*.toml")))
        self.assertGreater(len(paths), 10)
        for path in paths:
            with open(path, "rb") as file:
                job = tomllib.load(file)
            errors = [f"{list(e.path)}: {e.message[:200]}" for e in self.validator.iter_errors(job)]
            self.assertEqual(errors, [], path)

    def test_a_good_job_is_valid_for_both(self):
        self.assertTrue(self.validator.is_valid(GOOD))
        code, text = inspect(GOOD)
        self.assertEqual(code, 0, text)

    def test_changes_are_accepted_by_both(self):
        for path, value in CHANGES:
            job = changed(path, value)
            self.assertTrue(self.validator.is_valid(job), (path, value))
            code, text = inspect(job)
            self.assertEqual(code, 0, (path, value, text))

    def test_mistakes_are_refused_by_both(self):
        for path, value in MISTAKES:
            job = changed(path, value)
            self.assertFalse(self.validator.is_valid(job), (path, value))
            code, text = inspect(job)
            self.assertIn(code, (2, 3), (path, value, text))

    def test_every_layer_has_documentation(self):
        catalog = json.loads(subprocess.check_output([TRIREME, "catalog"]))
        for kind in ("layers", "losses", "optimizers", "schedules", "averages", "models",
                     "sources", "augmentations", "metrics"):
            self.assertGreater(len(catalog[kind]), 1)
            for entry in catalog[kind]:
                self.assertTrue(entry.get("doc") or entry.get("prediction"), entry["name"])
                for option in entry["options"]:
                    self.assertTrue(option["doc"], (entry["name"], option["name"]))
                    self.assertNotEqual("required" in option, "default" in option)


if __name__ == "__main__":
    JOBS = sys.argv.pop()
    TRIREME = sys.argv.pop()
    unittest.main()
