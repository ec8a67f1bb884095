#!/usr/bin/env python3
"""Prints the polynomial coefficients of src/kernel_ir/math.cc.

Each is a weighted minimax fit (Remez by iteratively reweighted least squares on Chebyshev nodes) in
40 digits, rounded to the format it is used in. Needs mpmath and numpy.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 40


def fit(f, low, high, degree, weight, nodes=400, rounds=60):
    """Coefficients c0..cn of the polynomial with the least max |weight * (p - f)| on [low,
    high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    xs = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes))
          for i in range(nodes)]
    scale = max(abs(low), abs(high))
    fs = [f(x) for x in xs]
    ws = [weight(x) for x in xs]
    y = np.array([np.longdouble(mp.nstr(v, 25)) for v in fs])
    w = np.array([np.longdouble(mp.nstr(v, 25)) for v in ws])
    basis = np.vander(np.array([np.longdouble(mp.nstr(x / scale, 25)) for x in xs]), degree + 1,
                      increasing=True)
    lawson = np.ones(nodes, dtype=np.longdouble) / nodes
    best, best_error = None, None
    for _ in range(rounds):
        s = np.sqrt(lawson) * w
        a, b = basis * s[:, None], y * s
        # Normal equations by QR in double, refined in long double.
        q, r = np.linalg.qr(a.astype(np.float64))
        c = np.linalg.solve(r, q.T @ b.astype(np.float64)).astype(np.longdouble)
        for _ in range(4):
            rest = b - a @ c
            c = c + np.linalg.solve(r, q.T @ rest.astype(np.float64)).astype(np.longdouble)
        error = np.abs(w * (basis @ c - y))
        if best is None or error.max() < best_error:
            best, best_error = c, error.max()
        lawson = lawson * (error / error.max() + 1e-9)
        lawson = lawson / lawson.sum()
    coefficients = [mp.mpf(np.format_float_scientific(c, precision=24)) / scale**i
                    for i, c in enumerate(best)]
    return coefficients, best_error


def show(name, result, single=True):
    coefficients, error = result
    kind = np.float32 if single else np.float64
    print(f"{name}: weighted error {float(error):.3g} = 2^{np.log2(float(error)):.2f}")
    for i, c in enumerate(coefficients):
        value = kind(mp.nstr(c, 20))
        print(f"  c{i} = {repr(float(value)) if not single else str(value)}   {float(value).hex()}")


def main():
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.001")

    # (1 + 2a) exp(a^2) erfc(a) = q((a - 4) / (a + 4)) for a in [0, 9.5]
    a = lambda p: 4 * (1 + p) / (1 - p)
    ec = lambda p: (1 + 2 * a(p)) * mp.exp(a(p)**2) * mp.erfc(a(p))
    show("erfc", fit(ec, -1, mp.mpf("5.5") / mp.mpf("13.5"), 9, lambda p: 1 / ec(p)))

    # exp(r) = 1 + r + r^2 * q(r)
    f = lambda r: (mp.expm1(r) - r) / r**2 if abs(r) > 1e-9 else mp.mpf(1) / 2
    show("exp, 1 + r + r^2 q", fit(f, -half_ln2, half_ln2, 4, lambda r: r**2))

    # expm1(r) = r + r^2 * q(r)
    show("expm1, r + r^2 q", fit(f, -half_ln2, half_ln2, 5, lambda r: abs(r) + mp.mpf(10)**-9))

    # atan(t) = t + t^3 q(t^2) for |t| < tan(pi/8)
    top = (mp.sqrt(2) - 1)**2 * mp.mpf("1.001")
    t = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else -mp.mpf(1) / 3
    show("atan, t + t^3 q(t^2)", fit(t, 0, top, 4, lambda z: z))

    # tanh(x) = x + x^3 q(x^2) for |x| < 0.6
    th = lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else -mp.mpf(1) / 3
    show("tanh, x + x^3 q(x^2)", fit(th, 0, mp.mpf("0.6")**2, 4, lambda z: z))

    # log(1 + f) = f - f^2/2 + f^3 q(f)
    low, high = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1
    g = lambda x: (mp.log1p(x) - x + x**2 / 2) / x**3 if abs(x) > 1e-6 else mp.mpf(1) / 3 - x / 4
    show("log, x - x^2/2 + x^3 q", fit(g, low, high, 8, lambda x: x**2))

    # sin(r) = r + r^3 q(r^2), cos(r) = 1 - r^2/2 + r^4 q(r^2)
    top = (mp.pi / 4 * mp.mpf("1.001"))**2
    s = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else -mp.mpf(1) / 6
    show("sin, r + r^3 q(r^2)", fit(s, 0, top, 3, lambda z: z))
    c = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-9 else mp.mpf(1) / 24
    show("cos, 1 - r^2/2 + r^4 q(r^2)", fit(c, 0, top, 2, lambda z: z**2))

    # erf(x) = x + x * q(x^2) for |x| < 0.92
    e = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > 1e-20 else 2 / mp.sqrt(mp.pi) - 1
    show("erf, x + x q(x^2)", fit(e, 0, mp.mpf("0.93")**2, 6, lambda z: mp.mpf(1)))
    # erfc(x) = exp(x * q(x)) beyond, q(x) = log(erfc(x)) / x
    h = lambda x: mp.log(mp.erfc(x)) / x
    show("erfc, exp(x q(x))",
         fit(h, mp.mpf("0.92"), mp.mpf("3.95"), 7, lambda x: x * mp.erfc(x) / mp.erf(x)))

    # pow, in double: log(m) = 2 s + s^3 q(s^2), s = (m-1)/(m+1); exp(r) = 1 + r + r^2 q(r)
    edge = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.001"))**2
    a = lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / mp.sqrt(z)**3 if z > 1e-16 else mp.mpf(2) / 3
    show("log in f64, 2 s + s^3 q(s^2)", fit(a, 0, edge, 5, lambda z: z), single=False)
    show("exp in f64", fit(f, -half_ln2, half_ln2, 7, lambda r: r**2), single=False)


if __name__ == "__main__":
    main()
