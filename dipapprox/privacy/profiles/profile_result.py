"""Answers about a privacy profile. Frozen data, nothing printed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell
from dipapprox.numerics.decimals import rounded_up
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import ends, html_table, parameter_fields, valuation, valuation_text
from dipapprox.privacy.profiles.curve import CurvePoint, Envelope
from dipapprox.privacy.profiles.extended import Extended
from dipapprox.privacy.profiles.question import Order
from dipapprox.privacy.result import Result
from dipapprox.privacy.scope import Scope
from dipapprox.privacy.verdict import Witness

_PLACES = 20


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

    def witness_text(self, witness: Witness) -> tuple[str, str]:
        """Write the two inputs of a witness for people."""
        return (
            valuation_text(self.inputs, witness.input),
            valuation_text(self.inputs, witness.adjacent),
        )


class _Answer(Result):
    """What all answers share: what to show, and a table of it for notebooks."""

    __slots__ = ()

    run: Run

    @abstractmethod
    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what to show, as names and values; the program first."""

    def _repr_html_(self) -> str:
        program, *others = self.rows()
        return html_table([program, *self.run.scope.rows(), *others])


@dataclass(frozen=True, slots=True)
class LeastDelta(_Answer):
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

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what to show, as names and values."""
        yield "program", f"{self.run.program} at ε = {self.run.eps}"
        yield "ε_prv", str(self.eps_prv)
        yield "least δ", _interval(ends(self.delta_enclosure))
        yield from _witness_rows(self.run, self.witness)


@dataclass(frozen=True, slots=True)
class LeastEpsPrv(_Answer):
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

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what to show, as names and values."""
        yield "program", f"{self.run.program} at ε = {self.run.eps}"
        yield "δ", str(self.delta)
        yield "least ε_prv", _interval(self.eps_prv_enclosure.ends())
        yield from _witness_rows(self.run, self.witness)


@dataclass(frozen=True, slots=True)
class PrivacyCurve(_Answer):
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

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what to show, as names and values."""
        yield "program", f"{self.run.program} at ε = {self.run.eps}"
        for point in self.envelope.points:
            yield f"least δ at ε_prv = {point.eps_prv}", _interval(ends(point.delta))

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
class RenyiProfile(_Answer):
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

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what to show, as names and values."""
        yield "program", f"{self.run.program} at ε = {self.run.eps}"
        for each in self.orders:
            yield f"D_{each.order}", _interval(each.divergence.ends())
        yield "zCDP ρ", _interval(self.rho.ends())


ProfileAnswer = LeastDelta | LeastEpsPrv | PrivacyCurve | RenyiProfile


def _interval(both: list[str]) -> str:
    return both[0] if both[0] == both[1] else f"[{both[0]}, {both[1]}]"


def _witness_rows(run: Run, witness: Witness | None) -> Iterable[tuple[str, str]]:
    if witness is None:
        return
    first, second = run.witness_text(witness)
    yield "input", first
    yield "adjacent", second
    outputs = (valuation_text(run.output_cells, row.output) for row in witness.rows)
    yield "outputs", "; ".join(outputs) + witness.others()
