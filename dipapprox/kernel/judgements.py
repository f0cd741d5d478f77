"""What steps conclude: frozen data, and the words that people read.

Probabilities are integers in units of 2 ** -places, so that sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel.adjacency import Input, Value
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.losses import Losses
from dipapprox.kernel.machine import Machine, Tree
from dipapprox.kernel.signs import Epsilons, Sign
from dipapprox.kernel.weights import text_of

Output = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Distributions:
    """For some inputs, bounds of the probability of every output; outputs left out have 0.

    Attributes:
        eps: The machine's eps.
        places: Bounds are in units of 2 ** -places.
        outputs: Every output that one of the inputs can have.
        bounds: For each input the lower and the upper bounds, in the order of `outputs`.
    """

    eps: Fraction
    places: int
    outputs: tuple[Output, ...]
    bounds: Mapping[Input, tuple[Sequence[int], Sequence[int]]]

    def __str__(self) -> str:
        inputs = "input" if len(self.bounds) == 1 else "inputs"
        outputs = "output" if len(self.outputs) == 1 else "outputs"
        return (
            f"at eps = {self.eps} the probabilities of {len(self.outputs)} {outputs} "
            f"for {len(self.bounds)} {inputs}, within multiples of 2^-{self.places}"
        )


@dataclass(frozen=True, slots=True)
class ExactDistributions:
    """For some inputs, the probability of every output as a function of eps; others have 0.

    Attributes:
        epsilons: Where the functions hold.
        outputs: Every output that one of the inputs can have.
        forms: The functions, each once.
        values: For each input the places of probabilities in `forms`, in the order of `outputs`.
    """

    epsilons: Epsilons
    outputs: tuple[Output, ...]
    forms: Sequence[Ratio]
    values: Mapping[Input, Sequence[int]]

    def __str__(self) -> str:
        return (
            f"for {self.epsilons} the probabilities of {len(self.outputs)} outputs for "
            f"{len(self.values)} inputs, as closed forms"
        )


@dataclass(frozen=True, slots=True)
class Private:
    """For all pairs that are meant, delta_{u,u'} <= delta at eps_prv.

    Attributes:
        eps: The machine's: one, or an interval. Then eps_prv and delta are formulas in eps.
        pairs: The listed pairs; None for all adjacent ones.
        count: How many they are; or how many sets have all of them, if they are `in_sets`.
    """

    eps: Fraction | Epsilons
    eps_prv: Tree
    delta: Tree
    pairs: frozenset[tuple[Input, Input]] | None
    count: int
    in_sets: bool = False

    def __str__(self) -> str:
        which = "adjacent" if self.pairs is None else "listed"
        if self.in_sets:
            pairs = f"all {which} pairs (u, u'), bounded on {self.count} sets of them,"
        else:
            pairs = f"each of the {self.count} {which} ordered pairs (u, u')"
        where = f"all {self.eps}" if isinstance(self.eps, Epsilons) else f"eps = {self.eps}"
        return (
            f"for {pairs} and every set S of outputs, Pr[S | u] <= e^({text_of(self.eps_prv)}) "
            f"Pr[S | u'] + {text_of(self.delta)}, at {where}"
        )


@dataclass(frozen=True, slots=True)
class Violated:
    """For this pair, and these outputs or some, Pr[S | u] - e^eps_prv Pr[S | u'] > delta."""

    eps: Fraction
    eps_prv: Fraction
    delta: Fraction
    input: Input
    adjacent: Input
    outputs: tuple[Output, ...] | None

    def __str__(self) -> str:
        said = None if self.outputs is None else ", ".join(map(_words, self.outputs))
        return (
            f"for u = {_words(self.input)}, u' = {_words(self.adjacent)} and "
            f"{'some set S' if said is None else f'S = {{{said}}}'}, "
            f"Pr[S | u] - e^({self.eps_prv}) Pr[S | u'] > {self.delta}, at eps = {self.eps}"
        )


@dataclass(frozen=True, slots=True)
class Representatives:
    """For every adjacent pair, whatever eps and eps_prv, one of these has at least its delta."""

    pairs: tuple[tuple[Input, Input], ...]

    def __str__(self) -> str:
        return f"no adjacent pair has a larger delta than all of {len(self.pairs)} pairs have"


@dataclass(frozen=True, slots=True)
class ViolatedSomewhere:
    """At one of these eps a pair violates (eps_prv(eps), delta(eps))."""

    epsilons: Epsilons
    eps_prv: Tree
    delta: Tree
    violation: Violated

    def __str__(self) -> str:
        return (
            f"not for all {self.epsilons} the machine keeps eps_prv = {text_of(self.eps_prv)} and "
            f"delta = {text_of(self.delta)}: {self.violation}"
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """The machine is (budget * eps, 0)-differentially private for every eps > 0."""

    budget: Fraction

    def __str__(self) -> str:
        return (
            "for every eps > 0, any number of rounds or calls and all ordered pairs of adjacent "
            f"inputs u, u', Pr[S | u] <= e^({self.budget} eps) Pr[S | u'] for every set S of "
            "publications"
        )


@dataclass(frozen=True, slots=True)
class NoBudget:
    """No budget below this one serves every eps > 0, or any; None: no budget at all."""

    below: Fraction | None
    at_any: bool = True

    def __str__(self) -> str:
        which = "no B" if self.below is None else f"no B < {self.below}"
        where = f"for no eps > 0 and {which}" if self.at_any else f"for {which} at every eps > 0"
        return (
            f"{where} is Pr[S | u] <= e^(B eps) Pr[S | u'] for all ordered "
            "pairs of adjacent inputs and every set S of publications"
        )


@dataclass(frozen=True, slots=True)
class LeastBudget:
    """A budget that serves, and one below which none does: at every eps, or `at_any`."""

    budget: Fraction
    below: Fraction
    at_any: bool = True

    def __str__(self) -> str:
        return f"{Budget(self.budget)}; and {NoBudget(self.below, self.at_any)}"


@dataclass(frozen=True, slots=True)
class Of:
    """What holds of the machine of a run, or of the machine that a part is."""

    what: str | Machine
    judgement: Judgement

    def __str__(self) -> str:
        return f"of {self.what}: {self.judgement}"


@dataclass(frozen=True, slots=True)
class Changed:
    """A part of a machine, whose inputs are one of these pairs, or its reverse."""

    part: Machine
    eps: Fraction
    pairs: frozenset[tuple[Input, Input]]

    def __str__(self) -> str:
        some = ", ".join(f"{_words(u)} to {_words(v)}" for u, v in sorted(self.pairs, key=repr)[:2])
        more = f" or in one of {len(self.pairs) - 2} other ways" if len(self.pairs) > 2 else ""
        return f"{self.part} where its inputs change from {some}{more}"


@dataclass(frozen=True, slots=True)
class LossesOf:
    """Losses on one side of what so many of some runs or parts reveal, for some directions.

    From above that is all that they may reveal, chosen by what came before; from below it is what
    some that are run independently do. Parts have no directions.
    """

    times: Mapping[str | Changed, int]
    directions: frozenset[str]
    losses: Losses

    def __str__(self) -> str:
        runs = " and ".join(f"{n} times {what}" for what, n in self.times.items())
        side = "all that they reveal is" if self.losses.above else "what they may reveal is"
        record = " and ".join(sorted(self.directions))
        when = f", a record is {record}" if record else ""
        return f"{runs}{when}: {side} bounded from {self.losses}"


@dataclass(frozen=True, slots=True)
class Composed:
    """All that the pipeline may run is (eps_prv, delta)-private; or something is not."""

    verdict: str
    eps_prv: Fraction
    delta: Fraction

    def __str__(self) -> str:
        said = f"({self.eps_prv}, {self.delta})-differentially private"
        if self.verdict == "DP":
            return f"whatever the pipeline runs, it is {said}"
        return f"the pipeline may run what is not {said}"


Judgement = (
    Distributions
    | ExactDistributions
    | Private
    | Representatives
    | Violated
    | Sign
    | ViolatedSomewhere
    | Budget
    | NoBudget
    | LeastBudget
    | Of
    | LossesOf
    | Composed
)


def _words(values: Sequence[Value]) -> str:
    return f"({', '.join(map(str, values))})"
