"""Random questions, each beside an evaluator that shares nothing with ours (scipy, numpy).

A kind of questions is one module with `draw(random) -> Question`; `__main__` has the table of
kinds, asks as many as it is told, and counts what is false, half answered, slow or failed.
The evaluators are numerical, not proved: what they call false is looked at by a person.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import process_time
from typing import Any

from dipapprox import Limits, Options, UserError, parse, profile, verify

Ends = tuple[float, float]


@dataclass(frozen=True)
class Question:
    """One question through the Python interface, and what another evaluator says about it.

    `ask(seconds)` returns our two ends and the reason of an answer that stopped half way (None:
    whole). `truth()` returns two ends between which the value is, as far as the evaluator knows
    (a sampled supremum has no upper end: inf), or None where it knows nothing.
    """

    form: str
    """What half answers are counted by: "two numbers, delta 0"."""
    text: str
    """The question as someone would ask it: the program or the pipeline, and what is asked."""
    ask: Callable[[float], tuple[float, float, str | None]]
    truth: Callable[[], Ends | None] = lambda: None


def options(seconds: float) -> Options:
    """Return options for a question that is asked now, by the clock of the processor."""
    return Options(limits=Limits(seconds=seconds, started=process_time()))


def told(
    text: str, eps: str, about: dict[str, Any], seconds: float
) -> tuple[float, float, str | None]:
    """Ask about a program, and return two ends; of a claim 1 if it holds, and 0 if not."""
    ways: dict[str, Any] = {"eps": eps, "options": options(seconds), **about}
    try:
        if len(about) > 1:
            verdict = verify(parse(text), **ways)
            word = verdict.answer.value
            return float(word == "DP"), float(word != "Not_DP"), verdict.reason
        answer = profile(parse(text), **ways)
    except UserError as error:  # refused
        return 0, inf, str(error)
    ends = answer.delta_enclosure if "eps_prv" in about else answer.eps_prv_enclosure
    low, high = (inf if end is None else float(end) for end in (ends.lower, ends.upper))
    return low, high, answer.reason


def apart(ours: Ends, theirs: Ends) -> bool:
    """Tell whether two enclosures of one value do not meet: one of the two is false."""
    return ours[0] > theirs[1] or theirs[0] > ours[1]


def half(ours: Ends) -> bool:
    """Tell whether an answer says less than three digits of what is asked."""
    lower, upper = ours
    return lower != upper and (upper == inf or upper - lower > 1e-3 * max(abs(upper), 1e-3))
