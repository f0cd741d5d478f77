"""What a service does at a call, from one state: its outcomes, with exact probabilities.

A state is the values of the state cells, in the order of the declaration. In a *state by
differences* some cells have no values: what happens to them is a linear form over the values they
had, for values within ranges, and pairs of runs keep how far they are apart.

Published samples: which numbers they show, with which probabilities.

A sample of discrete Laplace noise around m, q = e^(-eps / g), shows k with probability
q^|k - m| (1 - q) / (1 + q); clamped to low..high, its ends stand for all that lies beyond them.
The density of continuous noise is given without the factor eps / 2, which all such noise has.

How much a probability p may exceed another one, q: the least c with p <= e^(c eps) q for every eps.
Where p = e^(c eps) q exactly, c is all there is to say. Else ln(p / q) / eps has limits as eps
grows and as eps vanishes: both are lower bounds of c, and the larger one is taken as a candidate,
which the sign procedure of `decide` confirms for every eps. At one eps it is a number, which is
enclosed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, inf
from operator import itemgetter

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exact.signs.supremum import near_zero, without_common
from dipapprox.exact.signs.values import enclose_at, sign_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.services import Service
from dipapprox.laws.family import Family, IntegerFamily, RealFamily
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.intervals import logarithm

State = tuple[Value | None, ...]
"""Values of the state cells; None for cells that are kept by differences."""

Forms = tuple[LinearForm, ...]
"""For each cell kept by differences its next value, over such cells and the data argument."""

Range = tuple[int, int]  # whole numbers, from the first to the last
Told = str | LinearForm
"""What comparisons are about: one cell, or a sum of several without a constant."""

Where = tuple[tuple[Told, Range], ...]  # what these hold
NOTHING = "no reply"  # what a reply cell holds that a query does not assign


class AskedService(Record):
    """What is asked about: an elaborated service, at every eps if `eps` is None."""

    service: Service
    eps: Fraction | None = None
    # Who looks, together; none: all queries and replies are seen.
    users: frozenset[str] = frozenset()


class Call(Record):
    """One call: the name of its handler, "data" or of the query, and what it carries."""

    handler: int  # its index; 0 brings a data point
    name: str
    # Of the arguments; () for data of any value, in states by differences.
    values: tuple[Value, ...]

    @property
    def is_data(self) -> bool:
        return not self.handler

    def text(self) -> str:
        """Write it as `unroll` reads it: "data 1", "count", "near(3)"."""
        if not self.values:
            return self.name
        listed = ", ".join(map(str, self.values))
        return f"{self.name} {listed}" if self.is_data else f"{self.name}({listed})"


class Published(Record):
    """A sample of its own that a reply cell shows, and nothing else sees."""

    family: Family
    mean: LinearForm  # over cells kept by differences and the data argument
    scale: Fraction  # g > 0 of the scale g / eps
    ends: tuple[int, int] | None  # what it is clamped to; None for no clamp


Replied = tuple[Value | Published, ...]
"""What the reply cells hold, each a sample of its own or a value."""


def row_text(values: State | Replied) -> str:
    said = ("a sample" if isinstance(each, Published) else str(each) for each in values)
    return f"({', '.join(said)})"


class CallOutcome(Record):
    """One of the ways in which a call may end."""

    probability: ExponentialRatio  # a function of eps, not the zero function
    reply: Replied
    state: State
    forms: Forms = ()  # what happens to the cells that are kept by differences
    where: Where = ()  # what these have to hold for the call to end so; cells not named: anything

    @property
    def samples(self) -> list[Published]:
        return [each for each in self.reply if isinstance(each, Published)]

    @property
    def values(self) -> tuple[Value | None, ...]:
        """The values of the reply cells; None where a sample is published."""
        return tuple([None if isinstance(each, Published) else each for each in self.reply])

    @property
    def label(self) -> tuple[object, ...]:
        """What two replies must have in common to show the same, but for their means."""
        return tuple(
            [
                (each.family, each.scale, each.ends) if isinstance(each, Published) else each
                for each in self.reply
            ]
        )


class Arrival(Record):
    """How a state was first come to."""

    state: State
    call: Call
    outcome: CallOutcome


Step = tuple[CallOutcome, ...]
"""All outcomes of a call: of total probability 1, whatever cells without values hold."""


class _NeedsValues(Exception):
    """Something is not known of cells unless their values are: of these, as far as known."""

    def __init__(self, cells: Collection[str] = ()) -> None:
        super().__init__()
        self.cells = frozenset(cells)


class Untracked(_NeedsValues):
    """Two runs cannot be told apart by differences of cells; by values they may be."""


class Inexpressible(LimitReached):
    """A call has no outcomes in closed form; the reason is for the verdict."""


class NotPlain(_NeedsValues):
    """A handler does something that only all of its guards together tell."""


# --- Published samples ----------------------------------------------------------------------------


_WIDEST = 20_000  # most numbers that a sample is spelled out for


def shown_probability(published: Published, number: Fraction) -> ExponentialRatio:
    """Return the probability that a sample with a number as mean shows one within its ends, whole
    for discrete noise; of continuous noise the density."""
    mean = published.mean.constant
    decay = _power(published, abs(number - mean))
    if isinstance(published.family, RealFamily):
        return ExponentialRatio(decay) * ExponentialRatio.constant(1 / published.scale)
    q = _power(published, Fraction(1))
    both = {ONE + q: 1}
    if published.ends is None:
        return ExponentialRatio.of(decay * (ONE - q), both)
    low, high = published.ends
    if low == high:
        return ExponentialRatio(ONE)
    # Pr[z >= k] = q^(k-m) / (1 + q) for k >= m, and 1 - q^(m-k+1) / (1 + q) for k <= m
    if number == high:
        return _tail(published, number - mean)
    if number == low:
        return _tail(published, mean - number)
    return ExponentialRatio.of(decay * (ONE - q), both)


OrderedChance = tuple[int, ExponentialRatio]
"""How many densities are among the factors of a probability, and the product."""


def may_show(published: Published, number: Fraction) -> bool:
    if isinstance(published.family, IntegerFamily) and number.denominator != 1:
        return False
    return published.ends is None or published.ends[0] <= number <= published.ends[1]


def _tail(published: Published, distance: Fraction) -> ExponentialRatio:
    """Return the probability to be at least so far on one side of the mean."""
    q = _power(published, Fraction(1))
    if distance >= 0:
        return ExponentialRatio.of(_power(published, distance), {ONE + q: 1})
    return ExponentialRatio.of(ONE + q - _power(published, 1 - distance), {ONE + q: 1})


def _power(published: Published, exponent: Fraction) -> ExponentialPolynomial:
    return ExponentialPolynomial.monomial(1, 0, -exponent / published.scale)


def spelled_out(outcome: CallOutcome) -> Iterator[CallOutcome]:
    """Yield an outcome once for each number that its samples may show."""
    choices: list[list[tuple[Value, ExponentialRatio]]] = []
    for each in outcome.reply:
        if not isinstance(each, Published):
            choices.append([(each, ExponentialRatio(ONE))])
            continue
        if not each.mean.is_constant:
            raise Untracked
        if each.ends is None or isinstance(each.family, RealFamily):
            raise Inexpressible("one run publishes other noise than the other, without bounds")
        low, high = each.ends
        if high - low >= _WIDEST:
            raise Inexpressible(f"one run publishes other noise, of more than {_WIDEST} values")
        numbers = [Fraction(number) for number in range(low, high + 1)]
        choices.append([(n, shown_probability(each, n)) for n in numbers])
    for shown in product(*choices):
        probability = outcome.probability
        for _, chance in shown:
            probability = probability * chance
        yield replace(outcome, reply=tuple([n for n, _ in shown]), probability=probability)


def one_sided_reply(left: Step, right: Step) -> tuple[float, tuple[Value, ...]] | None:
    """Return a reply that is possible for the first step only, and with how many densities; None if
    none was found.

    Numbers shown by continuous noise have probability 0 elsewhere; any will do. Those of the fewest
    densities come first: of none, the reply itself has a probability. Numbers between those of
    discrete noise come last, with infinity: no interval around them has probability 0 elsewhere.
    """
    labels = {outcome.label for outcome in right}
    found: list[tuple[float, tuple[Value, ...]]] = []
    for outcome in left:
        if outcome.label in labels:
            continue
        # A whole number that no outcome has for an end or a reply, and one that is not whole.
        known = [Fraction(0), *(v for o in right for v in o.reply if isinstance(v, Fraction))]
        known += [Fraction(end) for o in right for each in o.samples for end in each.ends or ()]
        beyond = Fraction(floor(max(known)) + 1)
        candidates = [
            _some(each, beyond) if isinstance(each, Published) else (each,)
            for each in outcome.reply
        ]
        for reply in product(*candidates):
            # In a run that shows it with a higher order it has the probability 0.
            own = chance_of(outcome, reply)
            others = [each[0] for o in right if (each := chance_of(o, reply))]
            if own and own[0] < min(others, default=own[0] + 1):
                shown = zip(outcome.reply, reply, strict=True)
                between = any(v == beyond + _HALF and isinstance(p, Published) for p, v in shown)
                found.append((inf if between else own[0], reply))
                break
    return min(found, key=itemgetter(0), default=None)


_HALF = Fraction(1, 2)


def _some(published: Published, beyond: Fraction) -> tuple[Fraction, ...]:
    if published.ends is None:
        return beyond, beyond + _HALF
    low, high = published.ends
    return tuple(Fraction(n) for n in dict.fromkeys((low, high, min(low + 1, high))))


def chance_of(outcome: CallOutcome, reply: Sequence[Value | None]) -> OrderedChance | None:
    """Return the order and probability to show a reply in a certain way; None if it cannot."""
    order, chance = 0, outcome.probability
    for shown, value in zip(outcome.reply, reply, strict=True):
        if not isinstance(shown, Published):
            if shown != value:
                return None
            continue
        if not isinstance(value, Fraction) or not may_show(shown, value):
            return None
        order += isinstance(shown.family, RealFamily)
        chance = chance * shown_probability(shown, value)
    return order, chance


# --- Quotients of probabilities -------------------------------------------------------------------


_STEPS = (Fraction(0), Fraction(1, 64), Fraction(1, 16), Fraction(1, 4), Fraction(1), Fraction(4))
"""What is added to a candidate that does not hold for every eps."""


class Gain(Record):
    """What is known of ln(p / q) / eps.

    At one eps, `upper` and `lower` are bounds of the number, and `jump` is 1.
    """

    exact: Fraction | None  # the number c if p = e^(c eps) q for every eps
    # A number c with p <= e^(c eps) q for every eps > 0; None if none was proved.
    upper: Fraction | None
    # No smaller c serves every eps: the limit as eps grows, or the one as eps vanishes, if p / q ->
    # 1 there.
    lower: Fraction
    jump: Fraction | None  # the limit of p / q as eps vanishes; None if it is infinite

    @property
    def is_unbounded(self) -> bool:
        """Whether no c serves every eps, however small."""
        return self.jump is None or self.jump > 1


NO_GAIN = Gain(Fraction(0), Fraction(0), Fraction(0), Fraction(1))

_known: Cache[tuple[ExponentialRatio, ExponentialRatio, Fraction | None], Gain] = Cache(40_000)


def gain_of(p: ExponentialRatio, q: ExponentialRatio, eps: Fraction | None = None) -> Gain:
    """Return what is known of ln(p / q) / eps for two probabilities that are not 0.

    At one eps > 0 it is bounded to at most 10^-11 where it is below 10^12; `Inexpressible` if one
    of the probabilities is 0 there.
    """
    if p is q or p == q:
        return NO_GAIN
    return _known.find((p, q, eps), lambda: _gain(p, q, eps))


def _gain_at(above: ExponentialPolynomial, below: ExponentialPolynomial, eps: Fraction) -> Gain:
    if not sign_at(above, eps) or not sign_at(below, eps):
        raise Inexpressible(f"a probability that is 0 at ε = {eps}, and not elsewhere")
    found = enclose_at(ExponentialRatio(above, ((below, 1),)), eps, _BITS)
    if isinstance(found, NotEnclosed) or found.lower <= 0:
        raise Inexpressible(f"a quotient of probabilities that is out of range at ε = {eps}")
    logarithms = logarithm(found, _BITS)
    upper = Fraction(ceil(logarithms.upper / eps * _GRID), _GRID)
    return Gain(None, upper, Fraction(floor(logarithms.lower / eps * _GRID), _GRID), Fraction(1))


_BITS = 80
_GRID = 10**12


def _gain(p: ExponentialRatio, q: ExponentialRatio, eps: Fraction | None) -> Gain:
    # Common factors of the denominators cancel.
    above, below = without_common(p, q)
    exact = _exponent(above, below)
    if exact is not None:
        return Gain(exact, exact, exact, Fraction(1))
    if eps is not None:
        return _gain_at(above, below, eps)
    # What is left of q has one sign, as q >= 0 and no denominator vanishes; it is made > 0, off the
    # isolated eps where q may be 0.
    if _sign(below) < 0:
        above, below = -above, -below
    small = near_zero(above, below)
    far = _rate(above) - _rate(below)
    # A quotient of powers of eps only moves the logarithm by less than any multiple of eps.
    candidate = far if small.slope is None else max(far, small.slope)
    upper = None
    if small.jump is not None and small.jump <= 1:
        upper = _least_proved(above, below, candidate)
    return Gain(None, upper, candidate, small.jump)


def _least_proved(
    above: ExponentialPolynomial, below: ExponentialPolynomial, candidate: Fraction
) -> Fraction | None:
    for step in _STEPS:
        check_limits()
        factor = ExponentialPolynomial.monomial(1, 0, candidate + step)
        found = is_nonnegative(factor * below - above, ALL_EPSILONS)
        if isinstance(found, Nonnegative):
            return candidate + step
        if not isinstance(found, Negative):
            return None
    return None


def _sign(function: ExponentialPolynomial) -> int:
    """Return the sign of a function that has one sign, and vanishes at isolated eps only."""
    eps = Fraction(1)
    while not (sign := sign_at(function, eps)):
        eps = eps / 2
    return sign


def _exponent(above: ExponentialPolynomial, below: ExponentialPolynomial) -> Fraction | None:
    """Return c with above = e^(c eps) below; None if there is none."""
    if len(above.terms) != len(below.terms):
        return None
    c = _rate(above) - _rate(below)
    moved = {(n, rate + c): value for (n, rate), value in below.terms}
    return c if moved == dict(above.terms) else None


def _rate(function: ExponentialPolynomial) -> Fraction:
    return max(rate for (_, rate), _ in function.terms)
