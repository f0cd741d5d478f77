"""What is measured: programs and chains, and how each contestant runs them.

Verifications ask for the first precision unless said otherwise, at the papers' eps 1/2 and
delta 0.01. Their time is that of `verify` on a program that has been read: execution, events,
probabilities, verdict; nothing is remembered from one run to the next but the caches of the
process, which `Timing.first` is without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import factorial
from pathlib import Path

from bench.timing import NoAnswer, Run
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Connected, Event
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input, Program
from dipapprox.language.load import load
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits, limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.grid_evaluator import forget_grids
from dipapprox.numerics.methods import Answers, Method, Tier
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.run import FIRST_PRECISION, Engine, Options, Setting
from dipapprox.privacy.verdict import Answer, Claim
from dipapprox.privacy.verifier import verify
from dipapprox.questions.profile import profile
from dipapprox.semantics.execution import execute

EPSILON = Fraction(1, 2)
DELTA = Fraction(1, 100)
_SVT_BUDGET = Fraction(124, 100)

RELATIVE = Fraction(1, 10**6)
"""Relative width that is asked of the probability of a chain."""


@dataclass(frozen=True, slots=True)
class Case:
    """A verification: a program that ships, its size, which pairs, whether states merge, bits.

    Attributes:
        n: 0 for a program without size.
        least_at: Not a verification, but the least eps_prv at this delta.
    """

    program: str
    n: int
    all_pairs: bool = False
    merge: bool = True
    bits: int = FIRST_PRECISION
    least_at: Fraction | None = None

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        pairs = "all pairs" if self.all_pairs else "one pair"
        merging = "" if self.merge else ", not merged"
        bits = "" if self.bits == FIRST_PRECISION else f", {self.bits} bits"
        size = f" N={self.n}" if self.n else ""
        least = "" if self.least_at is None else f", least eps_prv at delta {self.least_at}"
        return f"{self.program}{size}, {pairs}{merging}{bits}{least}"

    def read(self, programs: Path) -> Program:
        """Load the program from a folder."""
        parameters = {"N": Fraction(self.n)} if self.n else {}
        return load(programs / f"{self.program}.dpg", parameters, reals=True)

    def claim(self) -> Claim:
        """Return the claim that the published tables check."""
        budget = _SVT_BUDGET if self.program in _WITH_GAUSSIANS else None
        return Claim(EPSILON, _DELTAS.get(self.program, DELTA), budget)


_DELTAS = {"sums_compared": Fraction(2, 5)}

_WITH_GAUSSIANS = {"svt_gauss", "svt_mix1", "svt_mix2"}


@dataclass(frozen=True, slots=True)
class Chain:
    """P[x1 < … < xN] for standard Gaussians: 1/N!, a nest of depth N."""

    n: int

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"P[x1 < … < x{self.n}]"

    def event(self) -> Event:
        """Return the event."""
        law = Distribution(GAUSSIAN, Fraction(0), Fraction(1))
        guards = (LinearForm.of({k: Fraction(1), k + 1: Fraction(-1)}) for k in range(self.n - 1))
        return Event((law,) * self.n, tuple(guards))

    def bits(self) -> int:
        """Return the precision that makes the enclosure relatively narrow."""
        return (factorial(self.n) * RELATIVE.denominator).bit_length()


AnyCase = Case | Chain

SVT = ("svt_gauss", "svt_laplace", "svt_mix1", "svt_mix2")
NOISY = ("noisy_max_gauss", "noisy_max_laplace", "noisy_min_gauss", "noisy_min_laplace")

PRECISE = (
    *(Case(program, 25, bits=200) for program in SVT),
    Case("noisy_max_gauss", 5, merge=False, bits=200),
    Case("noisy_max_laplace", 5, merge=False, bits=200),
    Case("noisy_max_gauss", 100, bits=200),
    Case("k_min_max_gauss", 4, bits=200),
    Case("m_range_gauss", 3, bits=200),
    Case("svt_gauss", 12, all_pairs=True, bits=200),
    Case("noisy_max_gauss", 10, all_pairs=True, bits=200),
)
"""Every output probability to 2^-200."""

OFFSETS = (
    Case("top_k_gauss", 5, all_pairs=True),
    Case("literature/top_k_selection", 5, all_pairs=True),
    Case("literature/band_sparse_vector", 5),
    Case("literature/band_sparse_vector", 10),
)
"""The two largest noisy values; a band round a noisy threshold."""

SUMS = (
    Case("weighted_sum", 0, all_pairs=True, least_at=Fraction(1, 1000)),
    Case("sums_compared", 0, all_pairs=True),
    Case("svt_prefix_gauss", 10),
    Case("svt_prefix_laplace", 10),
    Case("literature/prefix_sum", 10),
    Case("literature/prefix_sum", 20),
)
"""Linear guards: one, several, sums that grow."""

REALS = (
    *(Case("reals/real_svt_gauss", n, all_pairs=True, least_at=Fraction(1, 10**5)) for n in (3, 5)),
    Case("reals/real_noisy_max_gauss", 4, all_pairs=True, least_at=Fraction(1, 10**5)),
    Case("reals/real_svt_laplace", 3, all_pairs=True, least_at=Fraction(1, 10**5)),
)
"""Real inputs between bounds."""


def _least_budget(delta: Fraction, program: Program) -> Run:
    """Return a run that finds the least eps_prv over all pairs."""

    def run(cap: float) -> None:
        options = Options(limits=Limits(seconds=cap))
        found = profile(program, eps=EPSILON, delta=delta, options=options)
        if isinstance(found, NotEnclosed):
            raise NoAnswer(found.reason)

    return run


def single_pair(program: Program) -> tuple[Input, Input]:
    """Return the papers' pair (0…0, 0…01)."""
    zeros = (Fraction(0),) * (len(program.inputs) - 1)
    return (*zeros, Fraction(0)), (*zeros, Fraction(1))


def selection_of(case: Case, program: Program) -> PairSelection:
    """Return the ordered pairs that a case checks."""
    if case.all_pairs:
        return AllPairs()
    first, second = single_pair(program)
    return OrderedPairs(((first, second), (second, first)))


def verification(
    case: Case,
    program: Program,
    engine: Engine = Engine.AUTO,
    strategy: Strategy = Strategy.LEAST_NESTING,
    merge: bool | None = None,
) -> Run:
    """Return a run that verifies the claim; it must come out as DP. Or finds the least eps_prv."""
    if case.least_at is not None:
        return _least_budget(case.least_at, program)
    pairs, claim = selection_of(case, program), case.claim()
    kept = case.merge if merge is None else merge

    def run(cap: float) -> None:
        options = Options(
            engine=engine,
            strategy=strategy,
            precision=case.bits,
            merge=kept,
            limits=Limits(seconds=cap),
        )
        with limited(options.limits):
            verdict = verify(Setting(program, pairs, options), claim)
        if verdict.answer is Answer.UNKNOWN:
            if verdict.seconds >= cap:
                raise LimitReached(f"time limit: {cap:g} s")
            raise NoAnswer(verdict.reason or "unknown")
        if verdict.answer is not Answer.DP:
            raise NoAnswer(f"{verdict.answer.value}, the published verdict is DP")

    return run


def enclosing(make: Callable[[], Method], chain: Chain) -> Run:
    """Return a run of a method, made anew, on a chain."""
    event, bits = chain.event(), chain.bits()

    def run(cap: float) -> None:
        with limited(Limits(seconds=cap)):
            (found,) = make().enclose((event,), bits)
        check_chain(chain, found)

    return run


def check_chain(chain: Chain, found: Enclosure | NotEnclosed) -> None:
    """Check the enclosure of a chain's probability.

    Raises:
        NoAnswer: If it is missing, too wide or wrong.
    """
    if isinstance(found, NotEnclosed):
        raise NoAnswer(found.reason)
    truth = Fraction(1, factorial(chain.n))
    if truth not in found:
        raise NoAnswer("the enclosure does not contain 1/n!")
    if found.width > RELATIVE * truth:
        raise NoAnswer(f"relative width {float(found.width / truth):.1e}")


@dataclass(frozen=True, slots=True)
class Batch:
    """The distinct events of a case over the inputs of its pair, or over all inputs."""

    case: AnyCase
    all_inputs: bool = False

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"{self.case.name}{', events of all inputs' if self.all_inputs else ''}"

    def events(self, programs: Path) -> list[Connected]:
        """Return the events as engines get them: canonical, each once."""
        if isinstance(self.case, Chain):
            return [self.case.event()]
        program = self.case.read(programs)
        catalogue = Catalogue(execute(program, self.case.merge), EPSILON)
        inputs = product(*(cell.domain for cell in program.inputs))
        catalogue.columns(list(inputs) if self.all_inputs else list(single_pair(program)))
        return list(catalogue.events)


def certified(events: Sequence[Connected]) -> Answers:
    """Enclose probabilities in the certified float64 tier by an engine that remembers nothing.

    The process may remember grids with the node values of laws: see `certified_afresh`.

    Raises:
        NoAnswer: If it does not enclose some.
    """
    found = Eliminated(Tier.FLOAT64).enclose(events, FIRST_PRECISION)
    if not all(map(found.encloses, range(len(found)))):
        raise NoAnswer("an event without enclosure")
    return found


def certified_afresh(events: Sequence[Connected]) -> Answers:
    """The same, after the process has forgotten its grids: as if it had just begun."""
    forget_grids()
    return certified(events)
