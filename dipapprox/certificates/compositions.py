"""Certificates of compositions: `compose --certificate`.

What is stated are enclosures of the least δ at some budgets ε, and a claim that they imply: a
pair (ε, δ), or ends of the least ε for a δ, or nothing more. The evidence is, for the removal of a
record and for its adding, every run as masses on a grid of losses, once from above and once from
below; products are left to the reader.

    losses      half steps * unit / 2, times ln(base) if there is a base
    masses      whole numbers of 2^-bits, in hexadecimal
    slip        from below, true losses are less than those of the grid: by that, for all runs

A program comes with its text, with a pair of distributions that dominates all its adjacent inputs,
to be run from above, and with two adjacent inputs, to be run from below.

Without a grid (null) the pipeline is one run, and its profile is its own evidence.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dipapprox.certificates.numbers import END
from dipapprox.certificates.statement import (
    Computed,
    Count,
    Digest,
    Ends,
    PlainValues,
    RecordedProgram,
    Statement,
    Text,
    check_params,
)
from dipapprox.certificates.widened import check_widened

FORMAT = "dipapprox composition certificate"
VERSION = 1

MOST_RUNS = 10**9
MOST_BITS = 4_096
_MOST_HALVES = 2**40

Times = Annotated[int, Meta(ge=1, le=MOST_RUNS)]
Place = Annotated[int, Meta(ge=-_MOST_HALVES, le=_MOST_HALVES)]
WholeMass = Annotated[
    str, Meta(pattern=f"^[0-9a-f]{{1,2048}}{END}", description="a whole number, in hexadecimal")
]


def _positive(**numbers: Fraction | int) -> None:
    for name, number in numbers.items():
        if number <= 0:
            raise ValueError(f".{name}: expected a number > 0")


class GaussianRun(Statement, frozen=True, tag_field="mechanism", tag="gaussian"):
    """A number plus Gaussian noise."""

    sensitivity: Fraction
    sigma: Fraction

    def __post_init__(self) -> None:
        _positive(sensitivity=self.sensitivity, sigma=self.sigma)


class LaplaceRun(Statement, frozen=True, tag_field="mechanism", tag="laplace"):
    """A number plus Laplace noise."""

    sensitivity: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        _positive(sensitivity=self.sensitivity, scale=self.scale)


class DiscreteLaplaceRun(Statement, frozen=True, tag_field="mechanism", tag="discrete_laplace"):
    """A whole number plus noise with Pr[x] ~ exp(-|x|/scale)."""

    sensitivity: Times
    scale: Fraction

    def __post_init__(self) -> None:
        _positive(scale=self.scale)


class DiscreteGaussianRun(Statement, frozen=True, tag_field="mechanism", tag="discrete_gaussian"):
    """A whole number plus noise with Pr[x] ~ exp(-x²/(2 sigma²))."""

    sensitivity: Times
    sigma: Fraction

    def __post_init__(self) -> None:
        _positive(sigma=self.sigma)


class ResponseRun(Statement, frozen=True, tag_field="mechanism", tag="randomised_response"):
    """One of `values` answers: the true one with this probability, else any other alike."""

    probability: Fraction
    values: Annotated[int, Meta(ge=2)]

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ValueError(".probability: expected a number in (0, 1)")


class ExponentialRun(Statement, frozen=True, tag_field="mechanism", tag="exponential_mechanism"):
    """An outcome with Pr ~ exp(eps u / 2), u of sensitivity 1."""

    eps: Fraction

    def __post_init__(self) -> None:
        _positive(eps=self.eps)


class ApproximateRun(Statement, frozen=True, tag_field="mechanism", tag="approx_dp"):
    """Any (eps, delta)-private mechanism."""

    eps: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.eps < 0 or not 0 <= self.delta <= 1:
            raise ValueError(".eps: expected eps >= 0 and a delta in [0, 1]")


class RenyiRun(Statement, frozen=True, tag_field="mechanism", tag="rdp"):
    """Any mechanism of at most these Rényi divergences: (order, divergence), …"""

    orders: Annotated[tuple[tuple[Fraction, Fraction], ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        if any(order <= 1 or divergence < 0 for order, divergence in self.orders):
            raise ValueError(".orders: expected orders > 1 and divergences >= 0")


class ConcentratedRun(Statement, frozen=True, tag_field="mechanism", tag="zcdp"):
    """Any rho-zCDP mechanism."""

    rho: Fraction

    def __post_init__(self) -> None:
        _positive(rho=self.rho)


class Mass(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[p, q]: the probabilities of an outcome."""

    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        if self.p < 0 or self.q < 0 or not (self.p or self.q):
            raise ValueError("expected probabilities, not both of them 0")


class ProgramRun(Statement, frozen=True, tag_field="mechanism", tag="program"):
    """A program at one eps.

    Attributes:
        program: Its text.
        params: Values of its parameters.
        widened: Wider domains than it declares, by the names of inputs.
        eps: Where it runs.
        dominating: A pair of distributions that dominates any two adjacent inputs, in any order.
        attained: Two adjacent inputs.
    """

    program: RecordedProgram
    params: dict[str, Fraction]
    widened: dict[str, Text]
    eps: Fraction
    dominating: Annotated[tuple[Mass, ...], Meta(min_length=1, max_length=2**14)]
    attained: tuple[PlainValues, PlainValues]

    def __post_init__(self) -> None:
        _positive(eps=self.eps)
        check_widened(self.widened)
        check_params(self.params)
        for total in (sum(m.p for m in self.dominating), sum(m.q for m in self.dominating)):
            if total != 1:
                raise ValueError(".dominating: expected probabilities that add up to 1")


Mechanism = (
    GaussianRun
    | LaplaceRun
    | DiscreteLaplaceRun
    | DiscreteGaussianRun
    | ResponseRun
    | ExponentialRun
    | ApproximateRun
    | RenyiRun
    | ConcentratedRun
    | ProgramRun
)
"""What is run."""


class RecordedRun(Statement, frozen=True):
    """A mechanism and how often it is run; `subsample` is the rate of a Poisson sample."""

    what: Mechanism
    subsample: Fraction | None
    times: Times

    def __post_init__(self) -> None:
        if self.subsample is not None and not 0 < self.subsample <= 1:
            raise ValueError(".subsample: expected a number in (0, 1]")


class Atom(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[half steps, mass]."""

    place: Place
    mass: WholeMass


class Masses(Statement, frozen=True):
    """A loss distribution: atoms, ascending, and the mass at infinity."""

    atoms: tuple[Atom, ...]
    infinite: WholeMass

    def __post_init__(self) -> None:
        places = [atom.place for atom in self.atoms]
        if any(b <= a or (b - a) % 2 for a, b in pairwise(places)):
            raise ValueError(".atoms: expected ascending places, whole steps apart")


class PieceOfRun(Statement, frozen=True):
    """Runs with one profile.

    Attributes:
        run: Its number, from 0.
        group: How often it is run in each piece.
        times: How many pieces there are.
        masses: Of one piece.
    """

    run: Count
    group: Times
    times: Times
    masses: Masses


class Direction(Statement, frozen=True):
    """All runs, from below and from above."""

    below: Annotated[tuple[PieceOfRun, ...], Meta(min_length=1)]
    above: Annotated[tuple[PieceOfRun, ...], Meta(min_length=1)]


class RecordedGrid(Statement, frozen=True):
    """Runs on a grid; `added` is null where each pair dominates its reversal."""

    unit: Fraction
    base: Fraction | None
    bits: Annotated[int, Meta(ge=1, le=MOST_BITS)]
    slip: Fraction
    removed: Direction
    added: Direction | None

    def __post_init__(self) -> None:
        _positive(unit=self.unit)
        if self.base is not None and self.base <= 1:
            raise ValueError(".base: expected a number > 1")
        if self.slip < 0:
            raise ValueError(".slip: expected a number >= 0")


class StatedDelta(Statement, frozen=True):
    """The least δ at a budget lies in this interval."""

    eps_prv: Fraction
    delta: Ends

    def __post_init__(self) -> None:
        if self.eps_prv < 0:
            raise ValueError(".eps_prv: expected a number >= 0")


class CompositionClaimed(Statement, frozen=True):
    """(eps_prv, delta)-differential privacy; null is what was asked for."""

    eps_prv: Fraction | None
    delta: Fraction | None

    def __post_init__(self) -> None:
        if self.eps_prv is not None and self.eps_prv < 0:
            raise ValueError(".eps_prv: expected a number >= 0")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(".delta: expected a number in (0, 1)")


class EpsPrvEnds(Statement, frozen=True):
    """The least eps_prv for the claimed delta lies in this interval."""

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            raise ValueError(".lower: expected two numbers >= 0, the smaller one first")


class CompositionCertificate(Statement, frozen=True):
    """What is stated of a pipeline, and its evidence."""

    format: Literal["dipapprox composition certificate"]
    version: Literal[1]
    adjacency: Literal["add/remove", "substitution"]
    runs: Annotated[tuple[RecordedRun, ...], Meta(min_length=1)]
    claim: CompositionClaimed
    eps_prv_enclosure: EpsPrvEnds | None
    deltas: Annotated[tuple[StatedDelta, ...], Meta(min_length=1)]
    grid: RecordedGrid | None
    computed: Computed
    digest: Digest

    def __post_init__(self) -> None:
        sampled = any(run.subsample is not None for run in self.runs)
        if sampled and self.adjacency != "add/remove":
            raise ValueError(".adjacency: expected add/remove, as samples are taken")
        if self.grid is None:
            if len(self.runs) > 1 or self.runs[0].times > 1:
                raise ValueError(".grid: expected one, as there are several runs")
            return
        directions = [self.grid.removed, *([] if self.grid.added is None else [self.grid.added])]
        for direction in directions:
            for pieces in (direction.below, direction.above):
                if any(piece.run >= len(self.runs) for piece in pieces):
                    raise ValueError(".grid: expected pieces of the runs")
                for number, run in enumerate(self.runs):
                    own = (piece.group * piece.times for piece in pieces if piece.run == number)
                    if sum(own) != run.times:
                        raise ValueError(".grid: expected as many runs as there are")


class CertificateOfComposition(CompositionCertificate, frozen=True):
    """The claim holds; or, of a question, all that was found."""

    verdict: Literal["DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        claim, ends = self.claim, self.eps_prv_enclosure
        if (ends is not None) != (claim.eps_prv is None and claim.delta is not None):
            raise ValueError(".eps_prv_enclosure: expected it where a delta is given alone")
        stated = {each.eps_prv: each.delta for each in self.deltas}
        if claim.eps_prv is not None and claim.eps_prv not in stated:
            raise ValueError(".deltas: expected what is claimed")
        if claim.delta is None:
            return
        at_most = claim.eps_prv if ends is None else ends.upper
        if at_most not in stated or stated[at_most].upper > claim.delta:
            raise ValueError(".deltas: expected an upper end that implies the claim")
        if ends is None or not ends.lower:
            return
        if ends.lower not in stated or stated[ends.lower].lower <= claim.delta:
            raise ValueError(".deltas: expected a lower end that implies the claim")


class CertificateAgainstComposition(CompositionCertificate, frozen=True):
    """The claim is broken."""

    verdict: Literal["Not_DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        claim = self.claim
        if claim.eps_prv is None or claim.delta is None or self.eps_prv_enclosure is not None:
            raise ValueError(".claim: expected a budget and a delta")
        stated = {each.eps_prv: each.delta for each in self.deltas}
        if claim.eps_prv not in stated or stated[claim.eps_prv].lower <= claim.delta:
            raise ValueError(".deltas: expected a lower end that breaks the claim")
