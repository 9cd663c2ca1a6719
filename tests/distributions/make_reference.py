"""Writes reference.csv: log c_d, A_d and dA_d/dkappa at 50 digits, by a method unlike the library's.

The integrals of exp(kappa w) (1 - w^2)^((d-3)/2) are done by the trapezoidal rule after w = tanh(s), where
the integrand is analytic and decays at both ends, so the rule converges geometrically; the step is halved
until 45 digits stand. Below kappa = 1, exp(kappa w) is replaced by its even and odd parts, so that A keeps
its relative accuracy. A few rows are compared with mpmath's own Bessel function.
"""

import csv
import pathlib

import mpmath as mp

mp.mp.dps = 60

DIMENSIONS = (2, 3, 4, 5, 10, 17, 50, 65, 66, 67, 300, 1000, 5000, 20_000, 100_000, 999_999, 1_000_000)
CONCENTRATIONS = (0.0, 1e-300, 1e-12, 1e-4, 0.1, 1.5, 35.0, 1e3, 3e4, 2e5, 1e6, 1e8)
RELATIVE = (0.01, 0.3, 1.0, 4.7, 100.0)  # concentrations as multiples of the dimension


def peak_and_width(d, k):
    """Maximum in s of k tanh s - (d-1) log cosh s, and the scale of the integrand about it."""
    w = 2 * k / ((d - 1) + mp.sqrt((d - 1) ** 2 + 4 * k * k))
    rest = 2 * (d - 1) / ((d - 1) + 2 * k + mp.sqrt((d - 1) ** 2 + 4 * k * k))  # 1 - w, without cancellation
    rest = rest if rest < 0.5 else 1 - w
    s = mp.log((2 - rest) / rest) / 2
    curvature = (1 - w * w) * (d - 1 + 2 * k * w) if rest >= 0.5 else rest * (1 + w) * (d - 1 + 2 * k * w)
    return s, min(mp.mpf(1), 1 / mp.sqrt(curvature))


def moments(d, k, step_scale):
    """log of the integral, E w and Var w by the trapezoidal rule."""
    s0, width = peak_and_width(d, k)
    step = width * step_scale
    even = k < 1

    def log_weight(s):
        # Both factors are kept relative to their values at the peak; 1 - tanh s = 2 / (1 + e^{2s}).
        fall = 2 / (1 + mp.exp(2 * s))
        return (0 if even else -k * fall) - (d - 1) * mp.log(mp.cosh(s))

    centre = mp.mpf(0) if even else s0
    base = log_weight(centre)
    limit = -mp.mpf(135)  # e^-135 = 1e-59
    points = []
    for direction in (1, -1):
        n = 0 if direction == 1 else 1
        while True:
            s = centre + direction * n * step
            log_value = log_weight(s) - base
            points.append((s, mp.exp(log_value)))
            if log_value < limit:
                break
            n += 1
    if even:
        z = mp.fsum(f * mp.cosh(k * mp.tanh(s)) for s, f in points)
        first = mp.fsum(f * mp.tanh(s) * mp.sinh(k * mp.tanh(s)) for s, f in points) / z
        variance = mp.fsum(f * mp.tanh(s) ** 2 * mp.cosh(k * mp.tanh(s)) for s, f in points) / z - first**2
        log_integral = mp.log(z * step) + base
    else:
        z = mp.fsum(f for _, f in points)
        fall = mp.fsum(f * 2 / (1 + mp.exp(2 * s)) for s, f in points) / z
        variance = mp.fsum(f * (2 / (1 + mp.exp(2 * s)) - fall) ** 2 for s, f in points) / z
        first = 1 - fall
        log_integral = mp.log(z * step) + base + k
    # |S^{d-2}| times the integral is 1 / c_d; for d = 2 it is the two points of S^0.
    half = (mp.mpf(d) - 1) / 2
    log_area = mp.log(2) + half * mp.log(mp.pi) - mp.loggamma(half)
    return -(log_integral + log_area), first, variance


def row(d, k):
    d, k = mp.mpf(d), mp.mpf(k)
    scale = mp.mpf("0.2")
    old = moments(d, k, scale)
    while True:
        scale /= 2
        new = moments(d, k, scale)
        gap = max(abs(a - b) / max(abs(b), mp.mpf("1e-400")) for a, b in zip(old, new, strict=True))
        if gap < mp.mpf("1e-45"):
            return new
        old = new


def zero_of_log_normaliser(d):
    """A float near which log c_d passes through zero: the hardest place for absolute accuracy."""
    nu = mp.mpf(d) / 2 - 1
    approximate = mp.findroot(
        lambda k: nu * mp.log((nu + mp.hypot(nu, k)) / (2 * mp.pi)) - mp.hypot(nu, k),
        (d, 20 * d),
        solver="anderson",
    )
    return float(approximate)


def main():
    with (pathlib.Path(__file__).parent / "reference.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dim", "concentration", "log_normaliser", "mean_resultant_length", "derivative"])
        for d in DIMENSIONS:
            values = set(CONCENTRATIONS) | {r * d for r in RELATIVE}
            if d >= 300:
                values.add(zero_of_log_normaliser(d))
            for k in sorted(values):
                writer.writerow([d, repr(k), *(mp.nstr(v, 30) for v in row(d, k))])
                file.flush()
    for d, k in ((2, 1.5), (5, 35.0), (50, 0.1), (300, 1e3), (5000, 3e4)):
        nu = mp.mpf(d) / 2 - 1
        below, above = (mp.besseli(nu + i, mp.mpf(k), maxterms=10**6) for i in (0, 1))
        log_c, a, _ = row(d, k)
        exact = nu * mp.log(k) - (nu + 1) * mp.log(2 * mp.pi) - mp.log(below)
        print(d, k, mp.nstr(log_c - exact, 3), mp.nstr(a - above / below, 3))


if __name__ == "__main__":
    main()
