"""Measures predictions of one example at a time: predict_onnx.py CASE THREADS SECONDS PEER.

PEER is onnxruntime or openvino. Loads a model of export_models.py, compares its output with
PyTorch's and prints one JSON line.
"""

import json
import os
import sys

import numpy as np

from batches import measure, numbers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHAPES = {"resnet18": (1, 3, 224, 224), "mlp": (1, 784)}


def with_onnxruntime(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnxruntime.__version__, lambda x: session.run(None, {"x": x})[0]


def with_openvino(path, threads):
    import openvino
    model = openvino.Core().compile_model(path, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})
    request = model.create_infer_request()
    return openvino.__version__.split("-")[0], lambda x: request.infer({0: x})[0]


def main():
    case, threads, seconds, variant = sys.argv[1:5]
    folder = os.path.join(ROOT, "build/bench/models", case)
    make = with_onnxruntime if variant == "onnxruntime" else with_openvino
    version, predict = make(f"{folder}/model.onnx", int(threads))
    x = numbers(SHAPES[case], 1)
    with open(f"{folder}/output.json") as f:
        expected = json.load(f)
    if not np.allclose(predict(x).flatten()[:4], expected, rtol=1e-3, atol=1e-4):
        sys.exit(f"{case}: outputs differ: {variant} {predict(x).flatten()[:4]}, PyTorch {expected}")

    def step(_):
        predict(x)

    measure(f"{variant} {version}", case, int(threads), float(seconds), step, 1)


main()
