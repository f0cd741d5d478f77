"""Random questions about compositions, beside an accountant in doubles.

A pair (P, Q) is its losses ln(P / Q) and their P masses. Upper ends are of losses split between two
places of a grid, P and Q mass kept; lower ends of losses joined at a place, both masses kept. All
are multiplied by Fourier transforms, tilted to where δ is asked.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import expm1, inf, log, log1p, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import laplace, norm

from dipapprox import compose, parse
from tests.random_questions import Ends, Question, options

Doubles = NDArray[np.float64]
_TILTS = np.geomspace(1e-3, 3e3, 60)
_UNSURE = 1e-5  # what doubles, cells and rare losses may be off, as a share
_NOISE = {"gaussian": "sigma", "laplace": "scale", "discrete_gaussian": "sigma"}
_NOISE |= {"discrete_laplace": "scale"}
_TIMES = 1, 2, 3, 10, 30, 100, 1000, 10**4, 10**6
_KINDS = [*_NOISE, "Lap", "Gauss", "label", "randomised_response", "approx_dp"]
_KINDS += ["exponential_mechanism", "zcdp", "rdp"]


@dataclass(frozen=True)
class Pair:
    """Losses and their P masses; Q's are e^-loss of them."""

    losses: Doubles
    masses: Doubles
    infinite: float = 0.0  # P's where Q has none
    lost: float = 0.0  # Q's where P has none

    @classmethod
    def of(cls, p: Doubles, q: Doubles, infinite: float = 0.0) -> "Pair":
        kept = (p > 1e-280) & (q > 1e-280)
        masses = p[kept] / p.sum() * (1 - infinite)
        return cls(np.log(p[kept] / q[kept]), masses, infinite, infinite)

    def turned(self) -> "Pair":
        return Pair(-self.losses, self.masses * np.exp(-self.losses), self.lost, self.infinite)

    def sampled(self, rate: float) -> "Pair":
        others = np.append(self.masses * np.exp(-self.losses), self.lost)
        factors = 1 + rate * np.append(np.expm1(self.losses), -1)
        kept = (others > 0) & (factors > 0)
        masses = (others * factors)[kept]
        return Pair(np.log(factors[kept]), masses, rate * self.infinite, self.lost * (rate == 1))

    def coarse(self, cells: int = 1000) -> "Pair":
        """Return about the same with few losses: a tilt may be any, good or bad."""
        if len(self.losses) <= cells:
            return self
        masses, edges = np.histogram(self.losses, cells, weights=self.masses)
        kept = masses > 0
        return Pair(((edges[1:] + edges[:-1]) / 2)[kept], masses[kept])

    def moments(self, tilts: Doubles | float) -> Doubles:
        exponents = np.log(self.masses) + np.multiply.outer(tilts, self.losses)
        return np.asarray(logsumexp(exponents, axis=-1))


Runs = list[tuple[Pair, int]]


def two(loss: float, infinite: float = 0.0) -> Pair:
    """Two outcomes of opposite losses."""
    return Pair.of(np.exp([loss, 0.0]), np.exp([0.0, loss]), infinite)


def noise(name: str, b: float, k: int = 1) -> Pair:
    """Noise of size b about 0 and k."""
    if "discrete" in name:
        x = np.arange(-int(40 * b) - k, int(40 * b) + 1)
        weights = np.exp(-np.abs(x / b) if "laplace" in name else -((x / b) ** 2) / 2)
        return Pair.of(weights[:-k], weights[k:])
    if name in ("gaussian", "Gauss"):
        x = np.linspace(-14, 14 + 1 / b, 40_001)
        return Pair.of(norm.pdf(x, 1 / b), norm.pdf(x))
    inner = np.exp(-(np.arange(20_000) + 0.5) / 20_000 / b)
    q = np.concatenate(([1.0], inner / inner.sum() * -expm1(-1 / b), [np.exp(-1 / b)]))
    return Pair.of(q[::-1], q)


def end_of(runs: Runs, budget: float, known: float, above: bool) -> float:
    """Bound δ at a budget, or ε at a δ if one is known (else 0), from above or from below."""
    total = sum((n * each.coarse().moments(_TILTS) for each, n in runs), np.zeros_like(_TILTS))
    total += _TILTS * np.log(_TILTS) - (1 + _TILTS) * np.log1p(_TILTS)
    costs = (total - log(known)) / _TILTS if known else total - _TILTS * budget
    tilt = float(_TILTS[np.argmin(costs)])
    mean = spread = 0.0
    for each, n in runs:
        weights = np.exp(np.log(each.masses) + tilt * each.losses - each.moments(tilt))
        own = float(weights @ each.losses)
        mean, spread = mean + n * own, spread + n * float(weights @ (each.losses - own) ** 2)
    size = 1 << (17 if sum(n for _, n in runs) < 3000 else 20)
    # Beyond 14 deviations, and the losses of one run, is next to nothing.
    step = (28 * sqrt(spread) + 2 * max(float(np.ptp(each.losses)) for each, _ in runs)) / size
    losses = step * ((start := round(mean / step) - size // 2) + np.arange(size))

    def product(other: bool, sign: int) -> Doubles:
        found = np.ones(size // 2 + 1, complex)
        for each, n in runs:
            low, near = np.floor(each.losses / step), np.rint(each.losses / step)
            share = np.expm1(low * step - each.losses) / expm1(-step)
            joined = np.exp(near * step - each.losses) if other else np.ones_like(near)
            row = np.zeros(size)
            for place, part in [(low, 1 - share), (low + 1, share)] if above else [(near, joined)]:
                tilted = each.masses * part * np.exp(tilt * step * place - each.moments(tilt))
                row += np.bincount(place.astype(int) % size, tilted, size)
            found *= np.fft.rfft(row) ** n
        error = sign * 1e-16 * (30 + sum(n for _, n in runs)) * float(np.abs(found).mean())
        return np.maximum(np.roll(np.fft.irfft(found, size), -start) + error, 0)

    p = product(False, 1 if above else -1)
    r = p if above else product(True, 1)
    scale = sum(n * float(each.moments(tilt)) for each, n in runs)
    factors = np.exp(np.minimum(scale - tilt * losses, 600))
    infinite = -expm1(sum(n * log1p(-each.infinite) for each, n in runs))

    def delta(epsilon: float) -> float:
        terms = (p - np.exp(np.minimum(epsilon - losses, 600)) * r) * factors
        return float(infinite + np.cumsum(np.maximum(terms, 0) if above else terms[::-1]).max())

    if not known:
        return min(delta(budget), 1.0)
    if infinite > known or delta(0) <= known:
        return inf if infinite > known else 0.0
    if delta(most := float(losses[-1])) > known:  # noise of doubles: nothing is known
        return inf if above else 0.0
    return float(brentq(lambda e: delta(e) - known, 0, most))


def drawn(random: Random, name: str, size: float) -> tuple[dict[str, object], Pair, Pair | None]:
    """Draw what costs about so much in one run; also a pair that it has, and one above it."""
    spread, k = Fraction(f"{1 / size:.2g}"), random.randint(1, 3)
    b, small, said = float(spread), str(1 / spread), {"mechanism": name}
    match name:
        case "Lap" | "Gauss":
            text = f"output y in real\nadjacent all\ny <- {name}(q, {spread})\n"
            own = noise(name, b)
            return {"program": "input q in {0,1}\n" + text, "eps": 1}, own, own
        case "label":  # its pair may come either way round: above both is the greatest loss
            text = f"output y in {{0,1}}\nadjacent all\nx <- Lap(q, {spread})\ny <- x > 1\n"
            p, q = (laplace.sf(1, mean, b) for mean in (1, 0))
            own = Pair.of(np.array([p, 1 - p]), np.array([q, 1 - q]))
            above = two(float(np.abs(own.losses).max()))
            return {"program": "input q in {0,1}\n" + text, "eps": 1}, own, above
        case "randomised_response":
            p = Fraction(f"{1 / (1 + k * np.exp(-size)):.4f}")
            odd = float((1 - p) / k)
            rest = [odd] * (k - 1)
            own = Pair.of(np.array([float(p), odd, *rest]), np.array([odd, float(p), *rest]))
            return said | {"probability": str(p), "values": k + 1}, own, own
        case "approx_dp":
            delta = random.choice(["0", "1e-9", "1e-6"])
            own = two(1 / b, float(delta))
            return said | {"eps": small, "delta": delta}, own, own
        case "exponential_mechanism":
            return said | {"eps": small}, two(0.5 / b), two(1 / b)
        case "zcdp":
            return said | {"rho": str(1 / (2 * spread**2))}, noise("gaussian", b), None
        case "rdp":
            orders = [[2, str(1 / spread**2)], [8, str(5 / spread**2)]]
            return said | {"orders": orders}, noise("gaussian", b), None
    own = noise(name, b * k, k) if "discrete" in name else noise(name, b)
    return said | {_NOISE[name]: str(spread * k), "sensitivity": k}, own, own


def draw(random: Random) -> Question:
    """Draw a pipeline, and δ at an ε or ε at a δ."""
    sampled, tables = random.random() < 0.4, list[dict[str, object]]()
    adjacency = "add/remove" if sampled else random.choice(["add/remove", "substitution"])
    below, above, names = Runs(), Runs(), set[str]()
    for _ in range(random.choice([1, 1, 2, 3, 4])):
        name, times = random.choice(_KINDS), random.choice(_TIMES)
        rate = Fraction(random.choice(["1", "1/2", "1/10", "1/100", "1/1000"])) if sampled else 1
        most = max(float(rate) * sqrt(times), 1.0)
        table, own, other = drawn(random, name, random.choice([0.3, 1, 2]) / most)
        tables.append(table | {"times": times} | ({"subsample": str(rate)} if sampled else {}))
        below.append((own.sampled(float(rate)), times))
        above += [] if other is None else [(other.sampled(float(rate)), times)]
        names.add(name)
    budget = random.choice(["1/4", "1", "3", ""])
    delta = "" if budget else f"1e-{random.randint(1, 12)}"

    def ask(seconds: float) -> tuple[float, float, str | None]:
        runs = [
            table | {k: parse(table[k]) for k in ("program",) if k in table} for table in tables
        ]
        composed = compose(runs, adjacency=adjacency, options=options(seconds))
        found = composed.delta(budget) if budget else composed.epsilon(delta)
        most = None if budget else found.eps_prv_enclosure.upper
        if most is not None and found.reason is None and 0 < most < 1:
            found = composed.epsilon(delta, most / 1000)
        ends = found.delta_enclosure if budget else found.eps_prv_enclosure
        low, high = (inf if end is None else float(end) for end in (ends.lower, ends.upper))
        return low, high, found.reason

    def truth() -> Ends:
        asked = float(Fraction(budget or 0)), float(delta or 0)
        ends = list[float]()
        for runs, upper in (below, False), (above or below, True):
            both = runs, [(pair.turned(), n) for pair, n in runs]
            ends.append(max(end_of(each, *asked, above=upper) for each in both))
        low, high = ends
        if len(above) < len(below):
            high = 1.0 if budget else inf
        return low * (1 - _UNSURE), high * (1 + _UNSURE)

    what = names.pop() if len(names) == 1 else "several"
    form = f"{'δ' if budget else 'ε'} of {'sampled ' * sampled}{what}"
    said = f"{tables}, {adjacency}, {'ε' if budget else 'δ'} = {budget or delta}"
    return Question(form, said, ask, truth)
