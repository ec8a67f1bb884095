"""A generative adversarial network on MNIST: two networks in one Program, each with updates of its
own. Writes new digits to gan.npy. Goodfellow et al. 2014, with the loss of the generator that does
not saturate.

    python gan.py [--quick]
"""

import sys

import numpy as np

import trireme as tr

NOISE = 64  # random numbers for each picture


def leaky(x: tr.Value) -> tr.Value:
    return tr.where(x > 0, x, 0.2 * x)


def generate(program: tr.Program, noise: tr.Value) -> tr.Value:
    with program.scope("generator"):
        x = tr.nn.linear(noise, 128, activation=leaky)
        x = tr.nn.linear(tr.nn.batch_norm(x), 512, activation=leaky)
        x = tr.nn.linear(tr.nn.batch_norm(x), 784, activation="sigmoid")
        return tr.reshape(x, ("batch", 1, 28, 28))


def discriminate(program: tr.Program, image: tr.Value) -> tr.Value:
    """A logit: large for real pictures. Called twice, with the same parameters."""
    with program.shared_scope("discriminator"):
        x = tr.nn.linear(tr.nn.flatten(image), 256, activation=leaky)
        x = tr.nn.linear(tr.nn.dropout(x, rate=0.3), 128, activation=leaky)
        return tr.nn.linear(x, 1)


def main() -> None:
    quick = "--quick" in sys.argv
    program = tr.Program("gan")
    image = program.input("image", tr.f32, ("batch", 1, 28, 28))
    noise = tr.random_normal(("batch", NOISE), program=program)  # new numbers in every run
    fake = generate(program, noise)
    on_real, on_fake = discriminate(program, image), discriminate(program, fake)

    loss_d = tr.mean(tr.nn.softplus(-on_real)) + tr.mean(tr.nn.softplus(on_fake))
    loss_g = tr.mean(tr.nn.softplus(-on_fake))
    adam = tr.optim.Adam(2e-4, beta1=0.5)
    tr.minimize(loss_d, adam, name="d", parameters=["discriminator/*"])
    tr.minimize(loss_g, adam, name="g", parameters=["generator/*"])

    session = tr.Session(program)
    train = tr.datasets.mnist("train").shuffle(1).take(6400 if quick else 60000).batch(64)
    for epoch in range(1 if quick else 20):
        losses: list[tuple[float, float]] = []
        for batch in train.epoch(epoch):
            feeds = {"image": batch["image"]}
            d = session.run(feeds, loss_d, training=True, updates="d")
            g = session.run(feeds, loss_g, training=True, updates="g")
            losses.append((d, g))
        of_d, of_g = np.mean(losses, 0)
        print(f"epoch {epoch + 1}: loss of the discriminator {of_d:.4f}, "
              f"of the generator {of_g:.4f}")

    any_images = np.zeros((64, 1, 28, 28), "f4")  # only their number is read
    np.save("gan.npy", session.run({"image": any_images}, fake))


if __name__ == "__main__":
    main()
