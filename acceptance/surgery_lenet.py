"""LeNet-5 on MNIST, dense, and trained on by dynamic network surgery.

Prints both test accuracies and the ratio of the numbers that are not zero."""

import sys

import numpy as np

import trireme as tr


def lenet():
    """20 and 50 channels of 5 x 5 and 500 units, 431,080 parameters: that of Guo et al. 2016."""
    image = tr.Input((1, 28, 28), name="image")
    x = tr.nn.max_pool(tr.nn.conv2d(image, 20, kernel=5), kernel=2)
    x = tr.nn.max_pool(tr.nn.conv2d(x, 50, kernel=5), kernel=2)
    x = tr.nn.linear(tr.nn.flatten(x), 500, activation="relu")
    return tr.Model(image, tr.nn.linear(x, 10))


def nonzeros(model, outputs):
    """Numbers that are not zero in the network as it is saved."""
    small = tr.compression.pack_weights(model.program, model.session, outputs, max_bits=1)
    assert not small.weights
    return sum(int(np.count_nonzero(array)) for array in small.session.state_dict().values())


def main():
    data, test = tr.datasets.mnist("train"), tr.datasets.mnist("test")

    def train(model, epochs, weights, surgery):
        steps = epochs * -(-len(data) // 64)
        callbacks = [] if not surgery else [tr.compression.Pruning(
            sparsity=0.9817, initial_sparsity=0.5, end=steps // 2, every=50, splice=True)]
        model.compile(tr.optim.Adam(lr=tr.schedules.cosine(1e-3, steps)), "cross_entropy",
                      metrics=["accuracy"], target="label", seed=2)
        model.set_weights(weights, strict=False)
        model.fit(data, batch_size=64, epochs=epochs, callbacks=callbacks)
        accuracy = model.evaluate(test)["accuracy"]
        count = nonzeros(model, model.outputs)
        print(f"accuracy {accuracy:.4f}, {count} numbers that are not zero", flush=True)
        return accuracy, count

    reference = lenet()
    dense, all_numbers = train(reference, int(sys.argv[1]), {}, surgery=False)
    model = lenet()
    tr.compression.add_masks(model.program, dense_gradients=True)
    sparse, left = train(model, int(sys.argv[2]), reference.get_weights(), surgery=True)
    print(f"dense accuracy: {dense:.4f}")
    print(f"sparse accuracy: {sparse:.4f}")
    print(f"sparser: {all_numbers / left:.1f}")


main()
