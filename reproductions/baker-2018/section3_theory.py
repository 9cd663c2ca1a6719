"""Section 3: Theorem 3.1 and Corollary 3.2 against 400,000 chains of the process."""

import jax
import numpy as np
from common import ALPHA, DATA_SIZE, write

import geodrift as gd

CHAINS = 400_000


def chains(rng: np.random.Generator, theta: float, shapes: np.ndarray, step_size: float) -> np.ndarray:
    """theta after one step for each row of ``shapes``, ``[step, chain]`` or ``[step, 1]``."""
    log_theta = np.full(CHAINS, np.log(theta))
    for row in shapes:
        key = jax.random.key(int(rng.integers(2**31)))
        log_theta = gd.processes.host_cox_ingersoll_ross(key, log_theta, row, step_size)
    return np.exp(log_theta)


def corollary(rng: np.random.Generator) -> dict[str, float]:
    """Mean and variance after 30 steps of 0.1 from 50; a = 80.1, minibatches of 10 of 1000 data."""
    theta, h, steps, n, p = 50.0, 0.1, 30, 10, 0.08
    draws = chains(rng, theta, ALPHA + DATA_SIZE / n * rng.binomial(n, p, (steps, CHAINS)), h)
    a, decay = ALPHA + DATA_SIZE * p, np.exp(-steps * h)
    process = 2 * theta * (decay - decay**2) + a * (1 - decay) ** 2
    variance = process + (1 - decay**2) * np.tanh(h / 2) * DATA_SIZE**2 * p * (1 - p) / n
    return {
        "mean": draws.mean(),
        "mean_stated": theta * decay + a * (1 - decay),
        "mean_standard_error": draws.std() / CHAINS**0.5,
        "variance": draws.var(),
        "variance_stated": variance,
        "variance_of_the_exact_process": process,
        "variance_over_stated": draws.var() / variance,
    }


def theorem(rng: np.random.Generator) -> dict[str, float]:
    """E exp(s theta_3), given a_1, a_2, a_3."""
    shapes, theta, s, h = np.array([0.5, 3.0, 8.0]), 1.5, -0.7, 0.4
    terms = np.exp(s * chains(rng, theta, shapes[:, None], h))
    q = 1 - s * (1 - np.exp(-h * np.arange(4)))
    start = np.exp(theta * s * np.exp(-3 * h) / q[-1])
    return {
        "simulated": terms.mean(),
        "standard_error": terms.std() / CHAINS**0.5,
        "as_printed": start * np.prod((q[1:] / q[:-1]) ** -shapes),
        "with_the_order_reversed": start * np.prod((q[1:] / q[:-1]) ** -shapes[::-1]),
    }


def main() -> None:
    """Run both and write JSON."""
    rng = np.random.default_rng(3)
    measured = {"corollary_3_2": corollary(rng), "theorem_3_1": theorem(rng)}
    measured["theorem_3_1"]["printed_less_simulated"] = (
        measured["theorem_3_1"]["as_printed"] - measured["theorem_3_1"]["simulated"]
    )
    measured["theorem_3_1"]["reversed_less_simulated"] = (
        measured["theorem_3_1"]["with_the_order_reversed"] - measured["theorem_3_1"]["simulated"]
    )
    plain = {name: {key: float(value) for key, value in row.items()} for name, row in measured.items()}
    write("section3_theory", {"chains": CHAINS}, plain)


if __name__ == "__main__":
    main()
