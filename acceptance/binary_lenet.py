"""A binary LeNet on MNIST, and the same network with weights of 4 bits and of 32 bits.

Prints the accuracies, the sizes of the saved weights, and the speed of a product that counts bits
against that of 32-bit floats."""

import os
import statistics
import sys
import time

import numpy as np

import trireme as tr


def lenet(form):
    """20 and 50 channels, 500 units. All layers but the first have weights of that form; the
    hidden layer of the binary network has binary inputs, too."""
    image = tr.Input((1, 28, 28), name="image")
    x = tr.nn.conv2d(image, 20, kernel=5)
    x = tr.nn.relu(tr.nn.batch_norm(tr.nn.max_pool(x, kernel=2)))
    x = tr.nn.conv2d(x, 50, kernel=5, bias=False, weight_form=form)
    x = tr.nn.batch_norm(tr.nn.max_pool(x, kernel=2))
    x = tr.nn.binarize(x) if form == "binary" else tr.nn.relu(x)
    x = tr.nn.linear(tr.nn.flatten(x), 500, bias=False, weight_form=form)
    x = tr.nn.relu(tr.nn.batch_norm(x))
    return tr.Model(image, tr.nn.linear(x, 10, weight_form=form))


def train(form, epochs, folder):
    data, test = tr.datasets.mnist("train"), tr.datasets.mnist("test")
    model = lenet(form)
    steps = epochs * -(-len(data) // 64)
    model.compile(tr.optim.Adam(lr=tr.schedules.cosine(2e-3, steps)), "cross_entropy",
                  metrics=["accuracy"], target="label", seed=3)
    model.fit(data, batch_size=64, epochs=epochs)
    small = tr.compression.pack_weights(model.program, model.session, model.outputs)
    # The accuracy is that of the packed model as it is saved.
    path = os.path.join(folder, form)
    tr.save_model(small.program, small.session, path, outputs=small.program.outputs)
    saved = tr.load_model(path)
    right = 0
    for batch in test.batch(500).epoch(0):
        scores = saved.predict({"image": batch["image"]})[0]
        right += int((scores.argmax(1) == np.asarray(batch["label"])).sum())
    size = os.path.getsize(os.path.join(path, "weights.safetensors"))
    print(f"{form}: test accuracy {right / len(test):.4f}, weights {size} bytes", flush=True)
    return right / len(test), size


def median_ms(run, count):
    run()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def product_speed(rows, size):
    """Milliseconds of a linear layer [rows, size] -> [rows, size] in f32, and counting bits."""
    x = tr.Input((size,), name="x", program=tr.Program("product"))
    full = tr.nn.linear(x, size, bias=False, name="full")
    binary = tr.nn.linear(tr.nn.binarize(x), size, bias=False, weight_form="binary", name="binary")
    session = tr.Session(x.program, threads=1)
    feeds = {"x": np.random.default_rng(1).normal(size=(rows, size)).astype("f4")}
    small = tr.compression.pack_weights(x.program, session, [binary])
    assert small.weights[0].counts_bits
    expected = session.run(feeds, binary)
    result = small.session.run(feeds, small.program.outputs[0])
    assert np.allclose(result, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    f32 = median_ms(lambda: session.run(feeds, full), 20)
    bits = median_ms(lambda: small.session.run(feeds, small.program.outputs[0]), 20)
    print(f"product of {rows} rows, {size} x {size}: f32 {f32:.3f} ms, bits {bits:.3f} ms, "
          f"ratio {f32 / bits:.2f}", flush=True)
    return f32 / bits


def main():
    folder, epochs = sys.argv[1], int(sys.argv[2])
    print(f"product speed: {product_speed(1, 2048):.2f}")
    print(f"speed of 16 rows: {product_speed(16, 2048):.2f}")
    results = {form: train(form, epochs, folder) for form in ("full", "log4", "binary")}
    print(f"binary accuracy: {results['binary'][0]:.4f}")
    print(f"binary smaller: {results['full'][1] / results['binary'][1]:.2f}")
    print(f"log4 points lost: {100 * (results['full'][0] - results['log4'][0]):.2f}")


main()
