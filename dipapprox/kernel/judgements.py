"""What steps conclude: frozen data, and the words that people read.

Probabilities are integers in units of 2 ** -places, so that sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.kernel.adjacency import Input, Inputs, Output, Value
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import text_of
from dipapprox.kernel.machine import Machine, Tree
from dipapprox.kernel.signs import Epsilons

if TYPE_CHECKING:
    from dipapprox.kernel.losses import Adaptive, Losses
    from dipapprox.kernel.mechanisms import Mechanism


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
        eps: The machine's: one, or an interval. Then eps_prv and delta are formulas in eps. None
            of a pipeline, which has none of its own.
        pairs: The listed pairs; None for all adjacent ones.
        count: How many they are; or how many sets have all of them, if they are `in_sets`; 0 if
            nobody went through them.
    """

    eps: Fraction | Epsilons | None
    eps_prv: Tree
    delta: Tree
    pairs: tuple[Inputs, ...] | None
    count: int = field(default=0, compare=False)
    in_sets: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        if self.eps is None:
            return f"whatever the pipeline runs, it is {_privacy(self)}"
        which = "adjacent" if self.pairs is None else "listed"
        if self.in_sets or not self.count:
            pairs = f"all {which} pairs (u, u')"
            pairs += f", bounded on {self.count} sets of them," if self.count else ""
        else:
            pairs = f"each of the {self.count} {which} ordered pairs (u, u')"
        return (
            f"for {pairs} and every set S of outputs, Pr[S | u] <= e^({text_of(self.eps_prv)}) "
            f"Pr[S | u'] + {text_of(self.delta)}{_at(self.eps, 'all ')}"
        )


@dataclass(frozen=True, slots=True)
class Violated:
    """For some pair that is meant, Pr[S | u] - e^eps_prv Pr[S | u'] > delta for some set S.

    Attributes:
        eps: As of `Private`; on an interval it is so at one of them.
        pair: The pair, if the machine has inputs.
        outputs: S; None if it is not told.
    """

    eps: Fraction | Epsilons | None
    eps_prv: Tree
    delta: Tree
    pair: Inputs | None = field(default=None, compare=False)
    outputs: tuple[Output, ...] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.eps is None or self.pair is None:
            return f"the pipeline may run what is not {_privacy(self)}"
        outputs = "some set S"
        if self.outputs is not None:
            outputs = f"S = {{{', '.join(map(words_of, self.outputs))}}}"
        return (
            f"for u = {words_of(self.pair[0])}, u' = {words_of(self.pair[1])} and {outputs}, "
            f"Pr[S | u] - e^({text_of(self.eps_prv)}) Pr[S | u'] > {text_of(self.delta)}"
            f"{_at(self.eps, 'one of ')}"
        )


@dataclass(frozen=True, slots=True)
class Budgets:
    """Which B serve: the machine is (B eps, 0)-differentially private for every eps > 0.

    Attributes:
        budget: One that does; None: none is known.
        below: No B below this one serves; None: none is known to fail, or if none serves, all do.
        at_any: Whether those that do not serve fail at every eps > 0, not only at some.
    """

    budget: Fraction | None
    below: Fraction | None = None
    at_any: bool = True

    def __str__(self) -> str:
        found = []
        if self.budget is not None:
            found.append(
                "for every eps > 0, any number of rounds or calls and all ordered pairs of "
                f"adjacent inputs u, u', Pr[S | u] <= e^({self.budget} eps) Pr[S | u'] for every "
                "set S of publications"
            )
        if self.budget is None or self.below is not None:
            which = "no B" if self.below is None else f"no B < {self.below}"
            any_eps = f"for no eps > 0 and {which}"
            found.append(
                f"{any_eps if self.at_any else f'for {which} at every eps > 0'} is Pr[S | u] <= "
                "e^(B eps) Pr[S | u'] for all ordered pairs of adjacent inputs and every set S of "
                "publications"
            )
        return "; and ".join(found)


@dataclass(frozen=True, slots=True)
class Of:
    """What holds of the machine of a run, or of the machine that a part is."""

    machine: Machine
    judgement: Judgement

    def __str__(self) -> str:
        return f"of {self.machine}: {self.judgement}"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that is run for two data sets which differ so.

    Attributes:
        what: A machine, or a mechanism.
        eps: The machine's.
        pairs: Its inputs are one of these pairs, or its reverse; None: any two adjacent ones.
        sample: The rate of a Poisson sample, and whether a record is added to what is sampled, or
            removed; None: there is no sample.
    """

    what: Machine | Mechanism
    eps: Fraction | None
    pairs: frozenset[Inputs] | None
    sample: tuple[Fraction, bool] | None

    def __str__(self) -> str:
        said = [] if self.eps is None else [f"at eps = {self.eps}"]
        if self.pairs is not None:
            some = sorted(self.pairs, key=repr)[:2]
            told = ", ".join(f"{words_of(u)} to {words_of(v)}" for u, v in some)
            more = f" or in one of {len(self.pairs) - 2} other ways" if len(self.pairs) > 2 else ""
            said.append(f"where its inputs change from {told}{more}")
        if self.sample is not None:
            said.append(f"on a sample of rate {self.sample[0]}")
            said.append("to which a record is added" * self.sample[1] or "without a record")
        return " ".join([str(self.what), *said])


@dataclass(frozen=True, slots=True)
class LossesOf:
    """Losses on one side of what so many changes reveal.

    From above that is all that they may reveal, chosen by what came before; from below it is what
    some do, that are run independently, or are chosen likewise.
    """

    times: Mapping[Change, int]
    losses: Losses | Adaptive

    def __str__(self) -> str:
        runs = " and ".join(f"{n} times {what}" for what, n in self.times.items())
        side = "all that they reveal is" if self.losses.above else "what they may reveal is"
        return f"{runs}: {side} bounded from {self.losses}"


Judgement = Distributions | ExactDistributions | Private | Violated | Budgets | Of | LossesOf


def words_of(values: Sequence[Value]) -> str:
    """Write an input or an output."""
    return f"({', '.join(map(str, values))})"


def _privacy(said: Private | Violated) -> str:
    return f"({said.eps_prv}, {said.delta})-differentially private"


def _at(eps: Fraction | Epsilons, some: str) -> str:
    return f", at {some}{eps}" if isinstance(eps, Epsilons) else f", at eps = {eps}"
