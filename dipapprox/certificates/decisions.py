"""Certificates of decisions for all ε of an interval: `decide --certificate`.

Evidence of DP is every distinct inequality as the exact form that is >= 0, with one pair of
inputs and the outputs that it stands for, and the proof of its sign; the reader enumerates all
pairs himself. "signs" are further forms that are >= 0. Evidence of Not_DP is the witness:
exact forms of both probabilities of every output, and both sides of the inequality enclosed at one
rational ε.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta

from dipapprox.certificates.numbers import END, RATIONAL, read_rational
from dipapprox.certificates.proofs import Form, Proof, Ratio, function_of
from dipapprox.certificates.statement import (
    CertificateFields,
    Computed,
    Ends,
    PlainValues,
    Statement,
    check_uncounted,
)
from dipapprox.exponentials import ExponentialPolynomial

FORMAT = "dipapprox decision certificate"
VERSION = 2

_UPPER_END = f"^inf{END}|{RATIONAL}"


class DecisionClaimed(Statement, frozen=True):
    """(budget * eps, delta)-differential privacy for all eps > 0 of a closed interval.

    Attributes:
        delta: A number, or a formula in eps.
    """

    interval: tuple[
        Annotated[str, Meta(pattern=RATIONAL)],
        Annotated[str, Meta(pattern=_UPPER_END, description='"inf": no upper end')],
    ]
    budget: Fraction
    delta: str

    def __post_init__(self) -> None:
        lower, upper = self.ends
        if lower < 0 or (upper is not None and (upper < lower or not upper)):
            raise ValueError(".interval: expected an interval with an eps > 0")
        if self.budget < 0:
            raise ValueError(".budget: expected a number >= 0")

    @property
    def ends(self) -> tuple[Fraction, Fraction | None]:
        """The ends of the interval; None: no upper end."""
        lower, upper = self.interval
        return read_rational(lower), None if upper == "inf" else read_rational(upper)


class NonNegative(Statement, frozen=True):
    """A function that is >= 0 on the interval, and why."""

    form: Form
    proof: Proof

    def __post_init__(self) -> None:
        function_of(self.form)

    @property
    def function(self) -> ExponentialPolynomial:
        """The function."""
        return function_of(self.form)


class Inequality(NonNegative, frozen=True):
    """delta - Pr[O | input] + e^(budget eps) Pr[O | adjacent], up to a positive function."""

    input: PlainValues
    adjacent: PlainValues
    outputs: tuple[PlainValues, ...]


class Inequalities(Statement, frozen=True):
    """Why the claim holds.

    Attributes:
        delta_below: At most δ; None: the inequalities are about δ.
        signs: Weights and denominators of choices, differences of probabilities of single outputs.
        inequalities: Each distinct one once.
    """

    kind: Literal["inequalities"]
    delta_below: Fraction | None
    signs: tuple[NonNegative, ...]
    inequalities: tuple[Inequality, ...]


class ViolationOutput(Statement, frozen=True):
    """One output of a violation; the forms are None outside the decidable class."""

    output: PlainValues
    form: Ratio | None
    adjacent_form: Ratio | None
    probability: Ends
    adjacent_probability: Ends


class RecordedViolation(Statement, frozen=True):
    """Both sides of the inequality at one ε, a pair and an output set."""

    kind: Literal["witness"]
    eps: Fraction
    input: PlainValues
    adjacent: PlainValues
    outputs: tuple[ViolationOutput, ...]
    lhs_enclosure: Ends
    rhs_enclosure: Ends


class DecisionCertificate(CertificateFields, frozen=True):
    """What certificates of both decisions have."""

    format: Literal["dipapprox decision certificate"]
    version: Literal[2]
    claim: DecisionClaimed
    computed: Computed


class CertificateOfPrivacy(DecisionCertificate, frozen=True):
    """The claim holds at every ε of the interval."""

    verdict: Literal["DP"]
    evidence: Inequalities


class CertificateOfViolation(DecisionCertificate, frozen=True):
    """The claim is violated at some ε of the interval."""

    verdict: Literal["Not_DP"]
    evidence: RecordedViolation

    def __post_init__(self) -> None:
        super().__post_init__()
        check_uncounted(self.pairs)
