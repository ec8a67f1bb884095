"""Measures PaddlePaddle's training step: peer_paddle.py MODEL THREADS SECONDS VARIANT.

MODEL is mlp or lenet. VARIANT is dygraph (eager), jit (to_static network, eager optimizer) or
static (the whole step with the optimizer is one program of the Executor). Prints one JSON line.
"""

import sys

import paddle
from paddle import nn

from batches import BATCH, load, measure


def build(model):
    if model == "mlp":
        return nn.Sequential(
            nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 10))
    return nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2),
        nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def eager_step(model, variant, images, labels):
    x = [paddle.to_tensor(b) for b in images]
    y = [paddle.to_tensor(b) for b in labels]
    net = build(model)
    if variant == "jit":
        net = paddle.jit.to_static(net, full_graph=True)
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters(), use_multi_tensor=True)

    def step(i):
        loss = nn.functional.cross_entropy(net(x[i]), y[i])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return step


def static_step(model, images, labels):
    paddle.enable_static()
    shape = [BATCH, 784] if model == "mlp" else [BATCH, 1, 28, 28]
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", shape, "float32")
        y = paddle.static.data("y", [BATCH], "int64")
        loss = nn.functional.cross_entropy(build(model)(x), y)
        paddle.optimizer.Adam(1e-3).minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(startup)

    def step(i):
        return executor.run(main, feed={"x": images[i], "y": labels[i]}, fetch_list=[loss])[0]

    return step


def main():
    model, threads, seconds, variant = sys.argv[1:5]
    paddle.set_device("cpu")
    paddle.seed(1)
    images, labels = load(flat=model == "mlp")
    count = len(labels) // BATCH
    images = images[: count * BATCH].reshape((count, BATCH) + images.shape[1:])
    labels = labels[: count * BATCH].reshape((count, BATCH))
    if variant == "static":
        step = static_step(model, images, labels)
    else:
        step = eager_step(model, variant, images, labels)
    measure(f"paddle {paddle.__version__} {variant}", model, int(threads), float(seconds), step,
            count)


main()
