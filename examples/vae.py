"""A variational autoencoder on MNIST: an encoder of pictures into 20 normal numbers, and a decoder
that makes new pictures of such numbers. Writes new digits to vae.npy. Kingma and Welling 2014.

    python vae.py [--quick]
"""

import sys

import numpy as np

import trireme as tr

CODE = 20  # numbers that stand for a picture


def encode(program: tr.Program, image: tr.Value) -> tuple[tr.Value, tr.Value]:
    """The mean and the logarithm of the variance of the code, [batch, CODE]."""
    with program.scope("encoder"):
        x = tr.nn.linear(tr.nn.flatten(image), 400, activation="relu")
        return tr.nn.linear(x, CODE), tr.nn.linear(x, CODE)


def decode(program: tr.Program, code: tr.Value) -> tr.Value:
    """Logits of pixels, [batch, 784]. Called twice, with the same parameters."""
    with program.shared_scope("decoder"):
        x = tr.nn.linear(code, 400, activation="relu")
        return tr.nn.linear(x, 784)


def main() -> None:
    quick = "--quick" in sys.argv
    program = tr.Program("vae")
    image = program.input("image", tr.f32, ("batch", 1, 28, 28))
    noise = tr.random_normal(("batch", CODE), program=program)  # new numbers in every run
    mean, log_variance = encode(program, image)
    logits = decode(program, mean + tr.exp(0.5 * log_variance) * noise)
    new = tr.reshape(tr.sigmoid(decode(program, noise)), ("batch", 1, 28, 28))

    pixels = tr.losses.binary_cross_entropy_with_logits(logits, tr.nn.flatten(image))
    reconstruction = pixels.sum(1).mean()
    # The divergence of the code's distribution from the standard normal one.
    divergence = 0.5 * (tr.exp(log_variance) + mean * mean - 1 - log_variance).sum(1).mean()
    tr.minimize(reconstruction + divergence, tr.optim.Adam(1e-3))

    session = tr.Session(program)
    train = tr.datasets.mnist("train").shuffle(1).take(6400 if quick else 60000).batch(128)
    for epoch in range(1 if quick else 10):
        losses = [session.run({"image": batch["image"]}, [reconstruction, divergence],
                              training=True, updates=True) for batch in train.epoch(epoch)]
        of_pixels, of_codes = np.mean(losses, 0)
        print(f"epoch {epoch + 1}: loss {of_pixels + of_codes:.2f} "
              f"(reconstruction {of_pixels:.2f}, divergence {of_codes:.2f})")

    any_images = np.zeros((64, 1, 28, 28), "f4")  # only their number is read
    np.save("vae.npy", session.run({"image": any_images}, new))


if __name__ == "__main__":
    main()
