"""Densities of the laws of real numbers, on panels."""

from __future__ import annotations

from operator import mul

from flint import arb, arb_poly

from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.taylor import exponential, jet, times


def density(name: str, centre: arb, half: arb, side: int, terms: int) -> arb_poly:
    """Return what holds t -> f(c + h t) (`taylor`), f of a family (`laws`).

    Gauss: (c + h t)^2 / 2 = c^2 / 2 + c h t + h^2 t^2 / 2. Laplace noise has two branches, each the
    restriction of an entire function: `side` -1 says z <= 0, 1 says z >= 0.
    """
    match name:
        case "Gauss":
            linear = exponential(-centre * half, terms)
            both = times(linear, exponential(-half * half / 2, terms, 2), terms)
            return both * ((-centre * centre / 2).exp() / (2 * arb.pi()).sqrt())
        case "Lap" | "LapPlus" | "LapMinus":
            sides = FAMILIES[name].sides
            if side not in sides:
                return arb_poly()
            return exponential(-side * half, terms) * ((-side * centre).exp() / len(sides))
        case "Logistic":
            # f is even, and s is small on the left.
            flip = -1 if centre > 0 else 1
            return jet(lambda z, n: _logistic(flip * z, flip * half, n), centre, half, terms)
        case "Gumbel":
            return jet(lambda z, n: _gumbel(z, half, n), centre, half, terms)
        case "GumbelMinus":
            return jet(lambda z, n: _gumbel(-z, -half, n), centre, half, terms)
    raise Refuted(f"no density of {name} is known")


def _logistic(z: arb, half: arb, count: int) -> list[arb]:
    """Coefficients of t -> f(z + h t): s' = f = s - s^2."""
    s, f = [1 / (1 + (-z).exp())], list[arb]()
    for k in range(count):
        f.append(s[k] - sum(map(mul, s, s[::-1]), arb(0)))
        s.append(half * f[k] / (k + 1))
    return f


def _gumbel(z: arb, half: arb, count: int) -> list[arb]:
    """Coefficients of t -> f(z + h t): F' = f = v F, and v' = -v."""
    v, f = [(-z).exp()], list[arb]()
    below = [(-v[0]).exp()]
    for k in range(count):
        f.append(sum(map(mul, v, below[::-1]), arb(0)))
        below.append(half * f[k] / (k + 1))
        v.append(-half * v[k] / (k + 1))
    return f
