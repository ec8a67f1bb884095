"""A Siamese network on MNIST: one network, applied to two pictures, that puts pictures of the same
digit close to each other and others apart. Hadsell, Chopra and LeCun 2006.

    python siamese.py [--quick]
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trireme as tr

PAIRS = 64  # in a batch


def embed(program: tr.Program, image: tr.Value) -> tr.Value:
    """A point for each picture, [batch, 16]. Called twice, with the same parameters."""
    with program.shared_scope("embedding"):
        x = tr.nn.conv2d(image, 16, kernel=5, activation="relu")
        x = tr.nn.conv2d(tr.nn.max_pool(x, kernel=2), 32, kernel=5, activation="relu")
        return tr.nn.linear(tr.nn.flatten(tr.nn.max_pool(x, kernel=2)), 16)


def arrays_of(data: tr.Dataset, count: int) -> tuple[Any, Any]:
    batch = next(iter(data.take(count).batch(count).epoch(0)))
    return batch["image"], batch["label"]


def pairs(images: Any, labels: Any, choose: np.random.Generator) -> dict[str, Any]:
    """Random pictures, each with one of the same digit (same = 1) or any other one."""
    first = choose.integers(len(labels), size=PAIRS)
    second = choose.integers(len(labels), size=PAIRS)
    for i in range(0, PAIRS, 2):
        second[i] = choose.choice(np.flatnonzero(labels == labels[first[i]]))
    same = (labels[first] == labels[second]).astype("f4")
    return {"a": images[first], "b": images[second], "same": same}


def main() -> None:
    quick = "--quick" in sys.argv
    program = tr.Program("siamese")
    a = program.input("a", tr.f32, ("batch", 1, 28, 28))
    b = program.input("b", tr.f32, ("batch", 1, 28, 28))
    same = program.input("same", tr.f32, ("batch",))
    of_a, of_b = embed(program, a), embed(program, b)
    distance = tr.vector_norm(of_a - of_b, 2, axis=1)
    # Pictures of different digits get a distance of 1 or more.
    loss = tr.losses.contrastive(of_a, of_b, same, margin=1).mean()
    tr.minimize(loss, tr.optim.Adam(1e-3))

    session = tr.Session(program)
    choose = np.random.default_rng(1)
    train = arrays_of(tr.datasets.mnist("train").shuffle(1), 10000)
    test = arrays_of(tr.datasets.mnist("test"), 10000)
    for epoch in range(1 if quick else 10):
        losses = [session.run(pairs(*train, choose), loss, training=True, updates=True)
                  for _ in range(60 if quick else 300)]
        right: list[NDArray[np.bool_]] = []
        for _ in range(20):
            batch = pairs(*test, choose)
            right.append((session.run(batch, distance) < 0.5) == batch["same"])
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, "
              f"right about new pairs {np.mean(right):.4f}")


if __name__ == "__main__":
    main()
