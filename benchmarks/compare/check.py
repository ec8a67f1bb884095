"""Checks that train_case and PyTorch compute the same: check.py CASE...

train_case saves its initial parameters and prints the losses of five steps, without dropout.
PyTorch starts from these parameters and must have the same losses. The case adam has no loss;
there the first element of the first parameter is compared. Exits 1 if any differ by more than
1 in 1000.
"""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

import torch_case
import torch_models as models
import torch_sequences as sequences

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLERANCE = 1e-3


def ours(case, folder):
    program = os.path.join(ROOT, "build/release/bin/train_case")
    done = subprocess.run([program, case, "2", "check", folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {case}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def theirs(case, folder, names):
    if case == "adam":
        parameters = [torch.full(p.shape, 0.5) for p in models.resnet18().parameters()]
        step, _ = torch_case.adam_step("eager", parameters)
        return [(step(i), float(parameters[0].flatten()[0]))[1] for i in range(5)]
    weights = models.ours(folder)
    if case == "elementwise":
        x = torch.from_numpy(weights["x"]).requires_grad_()
        step, count = torch_case.elementwise_step(x, "eager")
    elif case in sequences.CASES:
        net, form = sequences.with_our_weights(case, weights)
        step, count = sequences.make_step(case, form, net)
    else:
        net = torch_case.network(case, 0.0)
        if case == "transformer":
            models.copy_transformer(net, weights)
        else:
            models.copy_in_order(net, weights, names)
        step, count = torch_case.network_step(case, net, "eager")
    return [float(step(i % count)) for i in range(5)]


def main():
    warnings.simplefilter("ignore")
    failed = False
    for case in sys.argv[1:] or ["resnet20", "transformer", "deepfm", "elementwise", "adam"]:
        folder = os.path.join(ROOT, "build/bench/models", case)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        row = ours(case, folder)
        a, b = np.array(row["losses"]), np.array(theirs(case, folder, row["parameters"]))
        same = bool(np.all(np.abs(a - b) <= TOLERANCE * np.maximum(np.abs(b), 1e-3)))
        failed |= not same
        print(f"{case}: losses {'agree' if same else 'DIFFER'}: Trireme {a.tolist()}, "
              f"PyTorch {b.round(6).tolist()}")
    sys.exit(failed)


main()
