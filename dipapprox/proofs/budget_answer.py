"""What all answers of `prove` are: bounds of the least budget, and what follows for a claimed one.

A budget D is a multiple of eps: it serves where there is (D·eps, 0)-privacy. What is proved of an
automaton, a program or a service gives bounds of the least one; here they become the answer, the
object of `prove --json` and what people see.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import Record, field
from dipapprox.digits import decimal_text, exact_text
from dipapprox.errors import INTERRUPTED
from dipapprox.privacy.description import (
    Description,
    End,
    Table,
    ends_of,
    known,
    parameter_fields,
    seconds_text,
)
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import Replayed, proved_fact, proved_fields
from dipapprox.privacy.verdict import TONES, Answer
from dipapprox.proof_steps.verdicts import WrittenProof


class BudgetAnswer(Record, Result, kw_only=True):
    """The answer to: is it (D·eps, 0)-private for every eps > 0, and for which D?

    Attributes:
        program: The name of what was asked about.
        parameters: Its parameters.
        lower: No smaller budget serves every eps.
        upper: A budget that serves every eps; None if none is known, or there is none.
        has_none: Whether it is proved that no budget serves every eps.
        reason: Why the least budget is not known, or that there is none; None if it is known.
        states: How many states were looked at.
        quotient_states: How many nodes they make when merged, or pairs of them were looked at; None
            for none.
        structures: The kinds of bad structures that were found: "LC", "LP", "DC", "PV".
        published_weight: The weight that Theorem 5 of the paper on DiP automata gives, no budget
            where WF⁺ fails; None for no automaton.
        caveat: What the answer leaves out; None for nothing.
        budget: The claimed D; None if none was: is there any?
        seconds: From what was asked about to the answer.
        eps: The only eps that was asked about; None for every eps > 0.
        replayed: That the kernel has replayed a proof; None if it was not asked to.
        unproved: Why it has replayed none, though it was asked to: then the answer is Unknown.
    """

    program: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    lower: Fraction
    upper: Fraction | None
    has_none: bool
    reason: str | None
    states: int
    quotient_states: int | None = None
    structures: tuple[str, ...] = ()
    published_weight: Fraction | None = None
    caveat: str | None = None
    budget: Fraction | None = None
    seconds: float = 0.0
    eps: Fraction | None = None
    replayed: Replayed | None = None
    unproved: str | None = None

    asked: ClassVar[str] = "compare its answer: proof.answer is Answer.DP"

    @property
    def answer(self) -> Answer:
        """DP: `upper` is a budget, and at most the claimed one.

        Not_DP: there is no budget, or the claimed one is less than `lower`.
        """
        return self.found if self.unproved is None else Answer.UNKNOWN

    @property
    def found(self) -> Answer:
        """The answer, whether the kernel follows or not."""
        if self.has_none or (self.budget is not None and self.budget < self.lower):
            return Answer.NOT_DP
        upper = self.upper
        if upper is not None and (self.budget is None or upper <= self.budget):
            return Answer.DP
        return Answer.UNKNOWN

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.upper == self.lower

    def replay(self) -> Replayed | None:
        """Replay a proof of the answer, DP or Not_DP.

        None for a budget of a program or an automaton (`proofs.replayed`).
        """
        return None

    @property
    def written(self) -> WrittenProof | None:
        """The proof that the kernel has replayed."""
        proof = None if self.replayed is None else self.replayed.proof
        return proof if isinstance(proof, WrittenProof) else None

    @property
    def given_by(self) -> tuple[str, str]:
        """The methods that gave `lower` and `upper`."""
        return "runs", "potential of pairs of runs"

    def told(self) -> Extended:
        """What is known of the least budget, and who says so.

        Raises:
            Contradiction: If the two ends have nothing in common.
        """
        least_by, most_by = self.given_by
        least = Extended(None if self.has_none else self.lower, None, least_by)
        return least.meet(Extended.at_most(self.upper, most_by), "the least budget")

    def why(self) -> tuple[End, ...]:
        """Return who gave the ends of the least budget, a multiple of ε."""
        return ends_of("least budget", self.told())

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run before there was an answer."""
        return self.answer is Answer.UNKNOWN and INTERRUPTED in (
            self.unproved or self.reason or ""
        ).split("; ")

    # --- as JSON --------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `prove --json`, a contract with other tools."""
        return {
            "program": self.program,
            "params": parameter_fields(self.parameters),
            "eps": optional_text(self.eps),
            "caveat": self.caveat,
            "verdict": self.answer.value,
            "reason": self.unproved or self.reason,
            "budget": optional_text(self.budget),
            "least_budget": {
                "lower": exact_text(self.lower),
                "upper": optional_text(self.upper),
                "exact": self.is_exact,
            },
            "structures": list(self.structures),
            "published_weight": optional_text(self.published_weight),
            "states": self.states,
            "quotient_states": self.quotient_states,
            "witness": self._witness(),
            **proved_fields(self.replayed),
            "seconds": round(self.seconds, 6),
        }

    @abstractmethod
    def _witness(self) -> dict[str, object] | None:
        """Return the field that shows the lower bound, or that there is no budget."""

    # --- for people -----------------------------------------------------------------------------

    def describe(self) -> Description:
        """Return what people see of it: the answer, what proves it, and the witness below."""
        claim = None
        if self.budget is not None:
            claim = f"{private_text(self.budget)} for {self._epsilons()}"
        facts = known(
            ("claim", claim),
            ("scope", self._scope()),
            ("least budget", self._least_budget()),
            ("reason", self.unproved or self.reason),
            *self._facts(),
            proved_fact(self.replayed),
            ("computed", f"exact, {seconds_text(self.seconds)}"),
        )
        headline = f"{self.program}: {self._sentence()}"
        return Description(
            headline, self.answer.value, TONES[self.answer], facts, tuple(self._below())
        )

    def _sentence(self) -> str:
        match self.answer:
            case Answer.DP:
                budget = self.upper if self.budget is None else self.budget
                return f"{private_text(budget)} for {self._where()}"
            case Answer.NOT_DP if self.has_none:
                return self._without_budget()
            case Answer.NOT_DP:
                return f"not {private_text(self.budget)}{self._where_violated()}"
            case Answer.UNKNOWN:
                return "not decided"

    def _least_budget(self) -> str | None:
        if self.has_none:
            return "none"
        if self.upper is None:
            return f"at least {budget_text(self.lower)}, if there is one" if self.lower else None
        if self.is_exact:
            return f"{budget_text(self.upper)}, exact"
        at_most = f"at most {budget_text(self.upper)}"
        return f"at least {budget_text(self.lower)}, {at_most}" if self.lower else at_most

    @abstractmethod
    def _scope(self) -> str | None:
        """Say what the answer is about."""

    @abstractmethod
    def _facts(self) -> Iterable[tuple[str, str | None]]:
        """Return what is said between the reason and how long it took."""

    @abstractmethod
    def _below(self) -> Iterable[Table | str]:
        """Lay out the witness."""

    def _epsilons(self) -> str:
        return "every ε > 0" if self.eps is None else f"ε = {exact_text(self.eps)}"

    def _where(self) -> str:
        """Say where an upper bound holds."""
        return self._epsilons()

    def _where_violated(self) -> str:
        """Say where a smaller budget fails."""
        return " for every ε > 0"

    def _without_budget(self) -> str:
        return "no D makes it (D ε, 0)-DP for every ε > 0"


def optional_text(number: Fraction | None) -> str | None:
    """Write a number that may be missing."""
    return None if number is None else exact_text(number)


def budget_text(budget: Fraction) -> str:
    """Write a budget: "1/2 · ε"."""
    return f"{decimal_text(budget)} · ε"


def private_text(budget: Fraction | None) -> str:
    """Write pure privacy with a budget; None stands for some budget."""
    if budget is None:
        return "private"
    return "(ε, 0)-DP" if budget == 1 else f"({decimal_text(budget)} ε, 0)-DP"
