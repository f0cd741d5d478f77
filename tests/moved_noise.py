"""Divergences of noise that is moved, in closed form: what answers are compared with."""

from math import exp, expm1, log

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


def renyi(order: float, p: float, q: float) -> float:
    """Of two outputs, the first of which has these probabilities."""
    if order == 1:
        return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))
    moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return log(moment) / (order - 1)
