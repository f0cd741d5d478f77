"""What is asked of a privacy profile, and what its answers say. Frozen data, nothing printed.

One point of the profile, its inverse, a curve, or Rényi divergences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from dipapprox.arithmetic.enclosure import Enclosure, rounded_up, short
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import Record, settle
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.charts import Chart, Curve, Picture, between
from dipapprox.privacy.description import Description, End, Fact, Table, count
from dipapprox.privacy.logarithms import read_growth
from dipapprox.privacy.notation import ends, pair_fields
from dipapprox.privacy.profiles.curve import CurvePoint, Envelope, evenly
from dipapprox.privacy.run import RAYS, Replayed, Run, RunResult, Witness

DEFAULT_WIDTH = Fraction(1, 10**9)  # of a least eps_prv, and of Rényi divergences
_RELATIVE_WIDTH = Fraction(1, 10**12)
_LEAST_WIDTH = Fraction(1, 10**30)  # of a least delta
REAL_WIDTH = Fraction(1, 10**6)
"""Of answers for real inputs, or about several numbers, relative, where nothing else is asked."""

MOST_ORDERS = 1_000
_LARGEST_ORDER = 100_000
Order = Fraction | Literal["inf"]  # of a Rényi divergence: >= 1, or "inf"


class AtEpsPrv(Record):
    """The least delta for an eps_prv."""

    # A number >= 0; a formula such as "log(3)" if e^eps_prv is obviously a rational number times a
    # rational power of e.
    eps_prv: Fraction | str
    # Wanted of the enclosure; None for a 10^12th of delta (10^-30 if that is less), with real
    # inputs or several numbers for what can be had, a millionth of delta at least.
    width: Fraction | None = None
    growth: Growth = Growth(Fraction(0))  # e^eps_prv: `__post_init__`

    def __post_init__(self) -> None:
        if isinstance(self.eps_prv, str):
            growth, text = read_growth(self.eps_prv), " ".join(self.eps_prv.split())
            settle(self, "eps_prv", text)
        else:
            growth = Growth(self.eps_prv)
        if growth.is_below_one():
            raise UserError(f"eps_prv must be >= 0, got {self.eps_prv}")
        settle(self, "growth", growth)

    def tolerance(self, delta: Enclosure) -> Fraction:
        return self.width or max(delta.upper * _RELATIVE_WIDTH, _LEAST_WIDTH)


class AtDelta(Record):
    """The least eps_prv for a delta; delta 0 asks for pure differential privacy."""

    delta: Fraction  # in [0, 1]
    # Wanted of the enclosure; None for `DEFAULT_WIDTH`, with real inputs or several numbers for
    # what can be had, a millionth (of eps_prv, if that is above 1) at least.
    width: Fraction | None = None
    claimed: Fraction | None = None  # an eps_prv that is claimed: what needs more is shown there

    @property
    def tolerance(self) -> Fraction:
        return self.width or DEFAULT_WIDTH


class OnCurve(Record):
    """The profile from eps_prv `low` to eps_prv `high`, certified at `count` points and between."""

    low: Fraction
    high: Fraction
    count: int

    def __post_init__(self) -> None:
        evenly(self.low, self.high, self.count)


class AtOrders(Record):
    """The largest Rényi divergences of these orders, ascending."""

    orders: tuple[Order, ...]
    width: Fraction = DEFAULT_WIDTH

    def __post_init__(self) -> None:
        if not 1 <= len(self.orders) <= MOST_ORDERS:
            raise UserError(f"1 to {MOST_ORDERS} Rényi orders are needed, got {len(self.orders)}")
        finite = {order for order in self.orders if not isinstance(order, str)}
        for order in finite:
            if not 1 <= order <= _LARGEST_ORDER:
                raise UserError(
                    f"a Rényi order must be in [1, {_LARGEST_ORDER}] or inf, got {order}"
                )
        infinite: tuple[Order, ...] = ("inf",) if "inf" in self.orders else ()
        settle(self, "orders", (*sorted(finite), *infinite))


Question = AtEpsPrv | AtDelta | OnCurve | AtOrders


def is_pure(question: Question) -> bool:
    """Whether δ = 0 is what it is about."""
    return isinstance(question, AtOrders) or (isinstance(question, AtDelta) and not question.delta)


def in_parts(question: Question) -> bool:
    """Whether independent parts of a program will do to answer it."""
    return not isinstance(question, AtOrders)


_PLACES = 20
_MOST_POINTS = 21  # of a curve, that are shown to people


def curve_table(points: Sequence[CurvePoint]) -> Table:
    """Lay out some points of a profile, the first and the last among them."""
    rows = min(len(points), _MOST_POINTS)
    shown = [points[row * (len(points) - 1) // (rows - 1)] for row in range(rows)]
    lines = ((short(Enclosure.exact(each.eps_prv), 6)[0], str(each.delta)) for each in shown)
    return Table("", ("ε_prv", "least δ"), tuple(lines), right=(0,))


class _AtOneEps(RunResult):
    __slots__ = ()

    eps: Fraction

    def to_dict(self) -> dict[str, object]:
        return {
            **self.header(),
            "eps": str(self.eps),
            **self._found(),
            **self.extent(),
            **self.footer(),
        }

    @abstractmethod
    def _found(self) -> dict[str, object]:
        """Return the fields that say what was asked and found."""

    def _attained_by(self, witness: Witness | None) -> tuple[Fact, ...]:
        if witness is None:
            return ()
        first, second = witness.pair_text(self.inputs)
        return (
            (
                "near it" if self.run.by[0] == RAYS else "attained by",
                f"input {first}; adjacent {second}",
            ),
            ("outputs", witness.outputs_text(self.output_cells)),
        )

    def _described(
        self, headline: str, facts: Iterable[tuple[str, str | None]], below: tuple[Table, ...] = ()
    ) -> Description:
        pairs = "too many ordered pairs to count"
        if self.scope.everywhere and not self.scope.listed:
            pairs = "infinitely many ordered pairs"
        elif self.pairs is not None:
            pairs = count(self.pairs, "ordered pair")
        return self.described(
            f"{self.program} at ε = {brief_text(self.eps)}{self.scope.restriction}: {headline}",
            label="profile",
            found=(
                *facts,
                ("reason", self.reason),
                ("pairs", f"{pairs}, {count(self.run.outputs, 'output')}"),
            ),
            below=below,
        )


_FIELDS = {"δ": "delta", "ε_prv": "eps_prv"}


class _Least(_AtOneEps):
    __slots__ = ()

    witness: Witness | None

    @abstractmethod
    def _told(self) -> tuple[str, str, Fraction | str, Extended | Enclosure]:
        """Return its name, the other one's with the number that it is for, and its bounds."""

    def _found(self) -> dict[str, object]:
        name, other, asked, told = self._told()
        bounds = ends(told) if isinstance(told, Enclosure) else told.ends()
        found = {_FIELDS[other]: str(asked), f"{_FIELDS[name]}_enclosure": bounds}
        return {**found, "witness": self._witness_fields(self.witness)}

    def why(self) -> tuple[End, ...]:
        name, _, _, told = self._told()
        trivial = Fraction(1) if isinstance(told, Enclosure) else None
        return self._ends(f"least {name}", told, self.witness, trivial)

    def charts(self) -> tuple[Chart, ...]:
        return self._witness_charts("Attained by these outputs", self.witness)

    def describe(self) -> Description:
        name, other, asked, told = self._told()
        enough = isinstance(told, Enclosure) or not told.infinite
        none = "" if enough else " (no ε_prv is enough)"
        headline = f"least {name} for {other} = {brief_text(asked)}: {told}{none}"
        return self._described(headline, self._attained_by(self.witness))


class LeastDelta(Record, _Least):
    """The least delta for an eps_prv: the largest delta_{u,u'} of all pairs.

    Attributes:
        witness: The attaining pair and set; None if no pair is told apart at this eps_prv.
    """

    run: Run
    eps: Fraction
    eps_prv: Fraction | str
    delta_enclosure: Enclosure
    witness: Witness | None
    replayed: Replayed | None = None

    def _told(self) -> tuple[str, str, Fraction | str, Extended | Enclosure]:
        return "δ", "ε_prv", self.eps_prv, self.delta_enclosure


class LeastEpsPrv(Record, _Least):
    """The least eps_prv for a delta; infinite if no eps_prv is enough.

    Attributes:
        witness: The pair that demands the lower bound, with the outputs that tell it apart; None
            if eps_prv 0 is enough. Its delta is that of the set at the lower bound.
    """

    run: Run
    eps: Fraction
    delta: Fraction
    eps_prv_enclosure: Extended
    witness: Witness | None
    replayed: Replayed | None = None

    def _told(self) -> tuple[str, str, Fraction | str, Extended | Enclosure]:
        return "ε_prv", "δ", self.delta, self.eps_prv_enclosure


class PrivacyCurve(Record, _AtOneEps):
    """The privacy profile on a range of budgets.

    Attributes:
        envelope: The certified points, and bounds between them: `envelope.at(eps_prv)`.
        witness: The attaining pair at the first point; None if no pair is told apart there.
    """

    run: Run
    eps: Fraction
    envelope: Envelope
    witness: Witness | None

    @property
    def largest_gap(self) -> Fraction:
        """Bound the distance of the upper from the lower envelope anywhere between the points."""
        return max(self.envelope.gap(k) for k in range(len(self.envelope.points) - 1))

    def _found(self) -> dict[str, object]:
        return {
            "curve": [self._point(point) for point in self.envelope.points],
            "largest_gap": rounded_up(self.largest_gap, _PLACES),
            "witness": self._witness_fields(self.witness),
        }

    def why(self) -> tuple[End, ...]:
        first, last = self.envelope.points[0], self.envelope.points[-1]
        at = f"δ at ε_prv = {first.eps_prv}"
        told = Extended(first.delta.lower, first.delta.upper, *first.by)
        ends = self._ends(at, told, self.witness, Fraction(1))
        between = f"distance of the ends of δ up to ε_prv = {last.eps_prv}"
        gap = rounded_up(self.largest_gap, _PLACES)
        return (*ends, End(between, False, gap, "concave hull in e^ε_prv"))

    def describe(self) -> Description:
        points = self.envelope.points
        gap = short(Enclosure(self.largest_gap, self.largest_gap), 3)[1]
        facts = (
            ("certified", f"at {len(points)} points; between them to within {gap}"),
            *self._attained_by(self.witness),
        )
        headline = f"privacy profile for ε_prv from {points[0].eps_prv} to {points[-1].eps_prv}"
        return self._described(headline, facts, (curve_table(points),))

    def chart(
        self, mark: tuple[Fraction, Fraction, str] | None = None, note: str | None = None
    ) -> Curve:
        """Draw the profile.

        Args:
            mark: (eps_prv, delta, name) of a point to show with it.
            note: What is said beneath it, besides what it is about.
        """
        points = [point.eps_prv for point in self.envelope.points]
        return Curve(
            title=f"{self.program} at ε = {self.eps}: privacy profile",
            across="budget ε_prv (no unit)",
            up="least δ (probability)",
            lines=between(points, self.envelope.at),
            mark=mark,
            notes=self.about() if note is None else (*self.about(), note),
            of_delta=True,
        )

    def charts(self) -> tuple[Chart, ...]:
        return (self.chart(),)

    def plot(self) -> Picture:
        """Return the profile as a picture: notebooks show it, `.save("curve.svg")` keeps it."""
        return Picture(self.chart())

    def _point(self, point: CurvePoint) -> dict[str, object]:
        pair: dict[str, object] | None = None
        if point.pair is not None:
            pair = pair_fields(self.inputs, point.pair, self.output_cells, point.outputs)
            if point.at_least is not None:
                pair["outputs_at_least"] = point.at_least
        # delta >= intercept - slope * e^eps_prv holds at every eps_prv.
        return {
            "eps_prv": str(point.eps_prv),
            "delta_enclosure": ends(point.delta),
            "line": {"intercept": point.line.ends()[0], "slope": point.line.ends()[1]},
            "witness": pair,
        }


class OrderResult(Record):
    """The largest Rényi divergence of one order, in nats, and a pair that attains it."""

    order: Order
    divergence: Extended
    witness: Witness | None


class RenyiProfile(Record, _AtOneEps):
    """Rényi divergences, and what they say about zero-concentrated differential privacy.

    Attributes:
        rho: Bounds of the least rho such that D_a <= rho a for *every* a > 1. Below: the largest
            D_a / a of the chosen orders. Above, because D_a does not fall with a:
            D_b / a serves all orders between chosen neighbours a < b (a = 1 below the first, b
            infinite above the last), and D_inf² / 2 if pairs are looked at in both orders.
    """

    run: Run
    eps: Fraction
    orders: tuple[OrderResult, ...]
    rho: Extended

    def _found(self) -> dict[str, object]:
        return {
            "renyi": [
                {
                    "order": str(each.order),
                    "divergence_enclosure": each.divergence.ends(),
                    "witness": self._witness_fields(each.witness),
                }
                for each in self.orders
            ],
            "zcdp": {"rho_enclosure": self.rho.ends()},
        }

    def at(self, order: Fraction) -> Enclosure:
        """Bound the largest divergence of an order between chosen ones that are bounded.

        D_a does not fall with a, and (a - 1) D_a is convex (van Erven and Harremoës 2014, theorem 3
        and corollary 2), for every pair and so for the largest: it lies below its chords.

        Raises:
            UserError: If the order is not between two such.
        """
        known = self._bounded()
        if not known or not known[0][0] <= order <= known[-1][0]:
            raise UserError(f"order {order} is not between two orders with bounds")
        for each, found in known:
            if each == order:
                return found
        (first, low), (last, high) = next(
            (one, other) for one, other in pairwise(known) if one[0] < order < other[0]
        )
        share = (order - first) / (last - first)
        chord = (1 - share) * (first - 1) * low.upper + share * (last - 1) * high.upper
        return Enclosure(low.lower, max(low.lower, min(high.upper, chord / (order - 1))))

    def _bounded(self) -> list[tuple[Fraction, Enclosure]]:
        return [
            (each.order, Enclosure(each.divergence.lower, each.divergence.upper))
            for each in self.orders
            if isinstance(each.order, Fraction)
            and each.divergence.lower is not None
            and each.divergence.upper is not None
        ]

    def chart(self) -> Curve:
        """Draw the divergences by order.

        Raises:
            UserError: If there are not two finite orders with bounds.
        """
        places = [order for order, _ in self._bounded()]
        if len(places) < 2:
            raise UserError(
                "there is nothing to draw: two finite orders with bounds are needed",
                'for example renyi="1,3/2,2,4,8"',
            )
        return Curve(
            title=f"{self.program} at ε = {self.eps}: Rényi divergences",
            across="order a (no unit)",
            up="largest D_a (nats)",
            lines=between(places, self.at),
            notes=self.about(),
        )

    def charts(self) -> tuple[Chart, ...]:
        return (self.chart(),) if len(self._bounded()) > 1 else ()

    def plot(self) -> Picture:
        """Return them as a picture: notebooks show it, `.save("renyi.svg")` keeps it."""
        return Picture(self.chart())

    def why(self) -> tuple[End, ...]:
        return tuple(
            end
            for each in self.orders
            for end in self._ends(f"D_{each.order}", each.divergence, each.witness)
        )

    def describe(self) -> Description:
        facts = [(f"D_{each.order}", str(each.divergence)) for each in self.orders]
        facts.append(("zCDP ρ", f"{self.rho} for all orders > 1"))
        return self._described("largest Rényi divergences, in nats", facts)


ProfileAnswer = LeastDelta | LeastEpsPrv | PrivacyCurve | RenyiProfile
