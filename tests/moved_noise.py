"""Divergences of moved noise in closed form, of two outcomes, and of ranges: oracles."""

from collections.abc import Callable
from functools import cache
from math import exp, expm1, log

import numpy as np
from scipy.special import log_ndtr, ndtr


def gaussian(shift: float, eps_prv: float) -> float:
    """Of N(shift, 1) and N(0, 1): Balle and Wang 2018, theorem 8."""
    far = eps_prv / shift
    return float(ndtr(shift / 2 - far) - exp(eps_prv + log_ndtr(-shift / 2 - far)))


def laplace(shift: float, eps_prv: float) -> float:
    """Of two Laplace laws of scale 1."""
    if abs(eps_prv) >= shift:
        return max(-expm1(eps_prv), 0.0)
    return -expm1((eps_prv - shift) / 2)


def sum_above(t: float, sigma: float = 1) -> float:
    """What a sum of Laplace noise of scale 1 and Gaussian noise has above t: by parts."""
    falls, rises = (log_ndtr(s * t / sigma - sigma) + sigma**2 / 2 - s * t for s in (1, -1))
    return float(ndtr(-t / sigma) + (exp(falls) - exp(rises)) / 2)


def most(density: Callable[..., np.ndarray], low: float, high: float) -> float:
    """What |ln| of the quotient of a density at 0 and at 1 is at most on an interval, or nearly."""
    places = np.linspace(low, high, 400_001)
    return float(np.abs(np.log(density(places, 0) / density(places, 1))).max())


def renyi(order: float, p: float, q: float) -> float:
    """Of two outputs, the first of which has these probabilities."""
    if order == 1:
        return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
    moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return log(moment) / (order - 1)


def excess(orders: np.ndarray, most: np.ndarray, p: float, q: float) -> float:
    """By how much a divergence of two outcomes is larger than allowed at most, either way round."""
    found = []
    for (a, b), (c, d) in (((p, q), (1 - p, 1 - q)), ((q, p), (1 - q, 1 - p))):
        terms = [orders * log(x) + (1 - orders) * log(y) for x, y in ((a, b), (c, d))]
        found.append((np.logaddexp(*terms) / (orders - 1) - most).max())
    return float(max(found))


def farthest(orders: np.ndarray, most: np.ndarray, q: float) -> float:
    """The greatest p beside q of which every divergence is allowed."""
    low, high = q, 1 - 1e-16
    for _ in range(60):
        p = (low + high) / 2
        low, high = (p, high) if excess(orders, most, p, q) <= 1e-12 else (low, p)
    return low


def bounded_ranges(eps: float, times: int, eps_prv: float) -> float:
    """Of runs whose losses lie in t - eps and t, each t chosen by what came: to about 1e-6.

    Dong, Durfee and Rogers 2020, by recursion over grids of losses and of t.
    """
    return float(np.interp(eps_prv, *_bounded_ranges(eps, times)))


@cache
def _bounded_ranges(eps: float, times: int) -> tuple[np.ndarray, np.ndarray]:
    losses = np.linspace(-1 - times * eps, 1 + times * eps, 8001)
    least = np.linspace(0, eps, 401)
    likely = (exp(eps) - np.exp(least)) / (exp(eps) - 1)
    values = np.maximum(-np.expm1(losses), 0)
    for _ in range(times):
        tries = np.zeros_like(losses)
        for t, p in zip(least, likely, strict=True):
            after = (losses - t, losses - t + eps)
            high, low = (np.maximum(np.interp(x, losses, values), -np.expm1(x)) for x in after)
            tries = np.maximum(tries, p * high + (1 - p) * low)
        values = tries
    return losses, values
