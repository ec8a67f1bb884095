"""Fourier transforms against numpy.fft."""

import itertools
import unittest

import numpy as np

import trireme as tr


def as_pairs(z):
    return np.stack([z.real, z.imag], -1)


def as_complex(pairs):
    return pairs[..., 0] + 1j * pairs[..., 1]


class Transforms(unittest.TestCase):
    def setUp(self):
        generator = np.random.default_rng(3)
        self.x = generator.normal(size=(3, 6, 5))
        self.z = self.x + 1j * generator.normal(size=self.x.shape)

    def test_one_axis(self):
        for n, axis, norm in itertools.product([0, 1, 4, 8, 61], [-1, 1, 0],
                                               ["backward", "ortho", "forward"]):
            options = {"axis": axis, "norm": norm}
            for name, has_complex, gives_complex in [("fft", 1, 1), ("ifft", 1, 1), ("rfft", 0, 1),
                                                     ("irfft", 1, 0)]:
                x = self.z if has_complex else self.x
                expected = getattr(np.fft, name)(x, n or None, **options)
                y = getattr(tr, name)(tr.array(as_pairs(x) if has_complex else x), n=n, **options)
                y = as_complex(y.numpy()) if gives_complex else y.numpy()
                np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12,
                                           err_msg=f"{name} {n} {options}")

    def test_two_axes(self):
        for axes, s, norm in [((-2, -1), None, "backward"), ((0, 2), (4, 7), "ortho"),
                              ((1, 0), (6, 2), "forward")]:
            for name, has_complex, gives_complex in [("fft2", 1, 1), ("ifft2", 1, 1),
                                                     ("rfft2", 0, 1), ("irfft2", 1, 0)]:
                x = self.z if has_complex else self.x
                expected = getattr(np.fft, name)(x, s, axes, norm)
                y = getattr(tr, name)(tr.array(as_pairs(x) if has_complex else x), s=s or (),
                                      axis=axes, norm=norm)
                y = as_complex(y.numpy()) if gives_complex else y.numpy()
                np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12, err_msg=name)

    def test_errors(self):
        with self.assertRaisesRegex(tr.Error, "complex numbers"):
            tr.fft(tr.array(self.x))
        with self.assertRaisesRegex(tr.Error, '"backward", "ortho", "forward"'):
            tr.rfft(tr.array(self.x), norm="none")


if __name__ == "__main__":
    unittest.main()
