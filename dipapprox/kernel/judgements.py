"""What steps conclude: frozen data.

Probabilities are integers in units of 2 ** -places, so that sums of them are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.machine import Input, Inputs, Machine, Output, Tree
from dipapprox.kernel.signs import Epsilons

if TYPE_CHECKING:
    from dipapprox.kernel.losses import Adaptive, Losses
    from dipapprox.kernel.mechanisms import Mechanism


class Distributions(NamedTuple):
    """For some inputs, bounds of the probability of every output; outputs left out have 0.

    `bounds` are for each input the lower and the upper ones, in the order of `outputs`.
    """

    eps: Fraction
    places: int
    outputs: tuple[Output, ...]
    bounds: Mapping[Input, tuple[Sequence[int], Sequence[int]]]


class ExactDistributions(NamedTuple):
    """For some inputs, the probability of every output as a function of eps; others have 0.

    `values` are for each input the places in `forms`, in the order of `outputs`.
    """

    epsilons: Epsilons
    outputs: tuple[Output, ...]
    forms: Sequence[Ratio]
    values: Mapping[Input, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Private:
    """For all pairs that are meant, delta_{u,u'} <= delta at eps_prv."""

    # The machine's: one, or an interval. Then eps_prv and delta are formulas in eps. None of a
    # pipeline, which has none of its own.
    eps: Fraction | Epsilons | None
    eps_prv: Tree
    delta: Tree
    pairs: tuple[Inputs, ...] | None  # the listed pairs; None for all adjacent ones
    # How many they are; or how many sets have all of them, if they are `in_sets`; 0 if nobody went
    # through them.
    count: int = field(default=0, compare=False)
    in_sets: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Violated:
    """For some pair that is meant, Pr[S | u] - e^eps_prv Pr[S | u'] > delta for some set S."""

    eps: Fraction | Epsilons | None  # as of `Private`; on an interval it is so at one of them
    eps_prv: Tree | None  # None: at every one
    delta: Tree
    pair: Inputs | None = field(default=None, compare=False)  # if the machine has inputs
    # The set S; None if it is not told.
    outputs: tuple[Output, ...] | None = field(default=None, compare=False)


class Budgets(NamedTuple):
    """Which B serve: the machine is (B eps, 0)-differentially private at every eps > 0, or one."""

    budget: Fraction | None  # one that does; None: none is known
    # No B below this one serves; None: none is known to fail, or if none serves, all do.
    below: Fraction | None = None
    at_any: bool = True  # whether those that do not serve fail at every eps > 0, not only at some
    # The only one that is meant; None: every eps > 0. What fails at one does not serve all.
    eps: Fraction | None = None


class Of(NamedTuple):
    """What holds of the machine of a run, or of the machine that a part is."""

    machine: Machine
    judgement: Judgement


class Change(NamedTuple):
    """Something that is run for two data sets which differ so."""

    what: Machine | Mechanism
    eps: Fraction | None  # of a machine
    # Its inputs are one of these pairs, or its reverse; None: any two adjacent ones.
    pairs: frozenset[Inputs] | None
    # The rate of a Poisson sample, and whether a record is added to what is sampled, or removed;
    # None: there is no sample.
    sample: tuple[Fraction, bool] | None


class LossesOf(NamedTuple):
    """Losses on one side of what so many changes reveal.

    From above that is all that they may reveal, chosen by what came before; from below it is what
    some do, that are run independently, or are chosen likewise.
    """

    times: Mapping[Change, int]
    losses: Losses | Adaptive


Judgement = Distributions | ExactDistributions | Private | Violated | Budgets | Of | LossesOf
