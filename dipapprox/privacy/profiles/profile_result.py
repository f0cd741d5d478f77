"""Answers about a privacy profile. Frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell
from dipapprox.numerics.decimals import rounded_up, short
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.description import (
    Description,
    Fact,
    Table,
    Tone,
    interval,
    known,
    seconds_text,
)
from dipapprox.privacy.notation import (
    ends,
    parameter_fields,
    parameters_text,
    valuation,
    valuation_text,
)
from dipapprox.privacy.profiles.curve import CurvePoint, Envelope
from dipapprox.privacy.profiles.extended import Extended
from dipapprox.privacy.profiles.question import Order
from dipapprox.privacy.result import Result
from dipapprox.privacy.scope import Scope
from dipapprox.privacy.verdict import Witness

_PLACES = 20

_MOST_POINTS = 21
_MOST_OUTPUTS = 8
"""Of a curve and of a witness, that are shown to people."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was looked at, and how.

    Attributes:
        scope: The domains and pairs that the answer is about.
        pairs: Ordered pairs looked at; None if they are too many to count.
        outputs: How many outputs there are.
        precision: Most bits asked for.
        seconds: From parsed arguments to the answer.
        reason: Why an enclosure is wider than asked for; None if none is.
    """

    program: str
    parameters: Mapping[str, Fraction]
    eps: Fraction
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]
    scope: Scope
    pairs: int | None
    outputs: int
    final_states: int
    precision: int
    engine: str
    seconds: float
    reason: str | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields that every answer's JSON has."""
        return {
            "pairs": self.pairs,
            "outputs": self.outputs,
            "final_states": self.final_states,
            "precision": self.precision,
            "engine": self.engine,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
        }

    def subject(self) -> dict[str, object]:
        """Return the fields that every answer's JSON begins with."""
        return {
            "program": self.program,
            "params": parameter_fields(self.parameters),
            **self.scope.fields(),
            "eps": str(self.eps),
        }

    def witness_fields(self, witness: Witness | None) -> dict[str, object] | None:
        """Return a witness as plain data."""
        return None if witness is None else witness.fields(self.inputs, self.output_cells)

    def describe(
        self, headline: str, facts: Iterable[Fact], below: tuple[Table, ...] = ()
    ) -> Description:
        """Return what people see of an answer: what is certain, and how it was found."""
        pairs = "too many to count" if self.pairs is None else str(self.pairs)
        spent = seconds_text(self.seconds)
        return Description(
            headline=f"{self.program} at ε = {self.eps}{self.scope.restriction}: {headline}",
            label="profile",
            tone=Tone.PLAIN,
            facts=known(
                *self.scope.rows(),
                ("parameters", parameters_text(self.parameters)),
                *facts,
                ("reason", self.reason),
                ("pairs", f"{pairs} ordered pairs, {self.outputs} outputs"),
                ("computed", f"{self.engine}, {self.precision} bits, {spent}"),
            ),
            below=below,
        )

    def witness_facts(self, witness: Witness | None) -> tuple[Fact, ...]:
        """Write the pair that attains an answer, and its outputs, for people."""
        if witness is None:
            return ()
        first, second = self.witness_text(witness)
        shown = [valuation_text(self.output_cells, row.output) for row in witness.rows]
        more = f"; … {len(shown) - _MOST_OUTPUTS} more" if len(shown) > _MOST_OUTPUTS else ""
        return (
            ("attained by", f"input {first}; adjacent {second}"),
            ("outputs", "; ".join(shown[:_MOST_OUTPUTS]) + more + witness.others()),
        )

    def witness_text(self, witness: Witness) -> tuple[str, str]:
        """Write the two inputs of a witness for people."""
        return (
            valuation_text(self.inputs, witness.input),
            valuation_text(self.inputs, witness.adjacent),
        )


@dataclass(frozen=True, slots=True)
class LeastDelta(Result):
    """The least delta for an eps_prv: the largest delta_{u,u'} of all pairs.

    Attributes:
        witness: The attaining pair and set; None if no pair is told apart at this eps_prv.
    """

    run: Run
    eps_prv: Fraction | str
    delta_enclosure: Enclosure
    witness: Witness | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `profile --eps-prv … --json`."""
        return {
            **self.run.subject(),
            "eps_prv": str(self.eps_prv),
            "delta_enclosure": ends(self.delta_enclosure),
            "witness": self.run.witness_fields(self.witness),
            **self.run.to_dict(),
        }

    def describe(self) -> Description:
        """Return what people see of it."""
        headline = f"least δ for ε_prv = {self.eps_prv}: {interval(self.delta_enclosure)}"
        return self.run.describe(headline, self.run.witness_facts(self.witness))


@dataclass(frozen=True, slots=True)
class LeastEpsPrv(Result):
    """The least eps_prv for a delta; infinite if no eps_prv is enough.

    Attributes:
        witness: The pair that demands the lower bound, with the outputs that tell it apart; None
            if eps_prv 0 is enough. Its delta is that of the set at the lower bound.
    """

    run: Run
    delta: Fraction
    eps_prv_enclosure: Extended
    witness: Witness | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `profile --delta … --json`."""
        return {
            **self.run.subject(),
            "delta": str(self.delta),
            "eps_prv_enclosure": self.eps_prv_enclosure.ends(),
            "witness": self.run.witness_fields(self.witness),
            **self.run.to_dict(),
        }

    def describe(self) -> Description:
        """Return what people see of it."""
        headline = f"least ε_prv for δ = {self.delta}: {self.eps_prv_enclosure.text()}"
        if self.eps_prv_enclosure.infinite:
            headline += " (no ε_prv is enough)"
        return self.run.describe(headline, self.run.witness_facts(self.witness))


@dataclass(frozen=True, slots=True)
class PrivacyCurve(Result):
    """The privacy profile on a range of budgets.

    Attributes:
        envelope: The certified points, and bounds between them: `envelope.at(eps_prv)`.
        witness: The attaining pair at the first point; None if no pair is told apart there.
    """

    run: Run
    envelope: Envelope
    witness: Witness | None

    @property
    def largest_gap(self) -> Fraction:
        """Bound the distance of the upper from the lower envelope anywhere between the points."""
        return max(self.envelope.gap(k) for k in range(len(self.envelope.points) - 1))

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `profile --curve … --json`."""
        return {
            **self.run.subject(),
            "curve": [self._point(point) for point in self.envelope.points],
            "largest_gap": rounded_up(self.largest_gap, _PLACES),
            "witness": self.run.witness_fields(self.witness),
            **self.run.to_dict(),
        }

    def describe(self) -> Description:
        """Return what people see of it: the profile at some of its points."""
        points = self.envelope.points
        gap = short(Enclosure(self.largest_gap, self.largest_gap), 3)[1]
        facts = (
            ("certified", f"at {len(points)} points; between them to within {gap}"),
            *self.run.witness_facts(self.witness),
        )
        rows = min(len(points), _MOST_POINTS)
        shown = [points[row * (len(points) - 1) // (rows - 1)] for row in range(rows)]
        table = Table(
            title="",
            columns=("ε_prv", "least δ"),
            rows=tuple(
                (short(Enclosure.exact(point.eps_prv), 6)[0], interval(point.delta))
                for point in shown
            ),
            right=(0,),
        )
        headline = f"privacy profile for ε_prv from {points[0].eps_prv} to {points[-1].eps_prv}"
        return self.run.describe(headline, facts, (table,))

    def _point(self, point: CurvePoint) -> dict[str, object]:
        pair: dict[str, object] | None = None
        if point.pair is not None:
            pair = {
                "input": valuation(self.run.inputs, point.pair[0]),
                "adjacent": valuation(self.run.inputs, point.pair[1]),
                "outputs": [valuation(self.run.output_cells, each) for each in point.outputs],
            }
            if point.at_least is not None:
                pair["outputs_at_least"] = point.at_least
        # delta >= intercept - slope * e^eps_prv holds at every eps_prv.
        return {
            "eps_prv": str(point.eps_prv),
            "delta_enclosure": ends(point.delta),
            "line": {
                "intercept": point.line.ends()[0],
                "slope": point.line.ends()[1],
            },
            "witness": pair,
        }


@dataclass(frozen=True, slots=True)
class OrderResult:
    """The largest Rényi divergence of one order, in nats, and a pair that attains it."""

    order: Order
    divergence: Extended
    witness: Witness | None


@dataclass(frozen=True, slots=True)
class RenyiProfile(Result):
    """Rényi divergences, and what they say about zero-concentrated differential privacy.

    Attributes:
        rho: Bounds of the least rho such that D_a <= rho a for *every* a > 1. Below: the largest
            D_a / a of the chosen orders. Above, because D_a does not fall with a:
            D_b / a serves all orders between chosen neighbours a < b (a = 1 below the first, b
            infinite above the last), and D_inf² / 2 if pairs are looked at in both orders.
    """

    run: Run
    orders: tuple[OrderResult, ...]
    rho: Extended

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `profile --renyi … --json`."""
        return {
            **self.run.subject(),
            "renyi": [
                {
                    "order": str(each.order),
                    "divergence_enclosure": each.divergence.ends(),
                    "witness": self.run.witness_fields(each.witness),
                }
                for each in self.orders
            ],
            "zcdp": {"rho_enclosure": self.rho.ends()},
            **self.run.to_dict(),
        }

    def describe(self) -> Description:
        """Return what people see of it."""
        facts = [(f"D_{each.order}", each.divergence.text()) for each in self.orders]
        facts.append(("zCDP ρ", f"{self.rho.text()} for all orders > 1"))
        return self.run.describe("largest Rényi divergences, in nats", facts)


ProfileAnswer = LeastDelta | LeastEpsPrv | PrivacyCurve | RenyiProfile
