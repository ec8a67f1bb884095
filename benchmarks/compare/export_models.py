"""Exports the networks of predict_case as ONNX files for the peers: export_models.py CASE...

predict_case saves its initial weights. PyTorch loads them, must have the same output, and exports
build/bench/models/CASE/model.onnx. Running statistics are 0 and 1 on both sides, because neither
network was trained.
"""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

import torch_models as models
from batches import numbers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHAPES = {"resnet18": (1, 3, 224, 224), "mlp": (1, 784)}


def export(case):
    folder = os.path.join(ROOT, "build/bench/models", case)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    program = os.path.join(ROOT, "build/release/bin/predict_case")
    done = subprocess.run([program, case, "1", "0", folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program} {case}: {done.stderr.strip()}")
    row = json.loads(done.stdout.splitlines()[-1])
    net = models.resnet18() if case == "resnet18" else models.mlp()
    models.copy_in_order(net, models.ours(folder), row["parameters"])
    net.eval()
    x = torch.from_numpy(numbers(SHAPES[case], 1))
    with torch.no_grad():
        output = net(x).flatten()[:4].numpy()
    if not np.allclose(output, row["output"], rtol=1e-3, atol=1e-4):
        sys.exit(f"{case}: outputs differ: Trireme {row['output']}, PyTorch {output.tolist()}")
    torch.onnx.export(net, (x,), f"{folder}/model.onnx", input_names=["x"], external_data=False,
                      verbose=False)
    with open(f"{folder}/output.json", "w") as f:
        json.dump(output.tolist(), f)
    print(f"{case}: outputs agree; exported to {folder}/model.onnx")


def main():
    warnings.simplefilter("ignore")
    for case in sys.argv[1:] or list(SHAPES):
        export(case)


main()
