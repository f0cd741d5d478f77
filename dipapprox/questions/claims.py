"""Claims that stand with a program, and whether they hold.

    # claim: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 25, pairs = single
    # claim: Not_DP for eps in 0..1 at delta = 1/100, N = 3
    # claim: DP for all eps at budget = 2
    # claim: least budget 1 for real inputs at N = 3
    # claim: least budget 3/4 for all N

In: lines of a program, or of the docstring of a Python function ("claim: …"). Out: questions with
the answers that they must have. `eps` makes it one of `verify`, a budget or inputs one of `prove`,
everything else one of `decide`; the names in front of "=" are arguments of the question, and all
others parameters. The words `expected`, `decide` and `prove` in place of `claim` say which it is.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from fractions import Fraction
from pathlib import Path
from time import perf_counter

from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import Diagnosis, LimitReached, QuestionRefused, SourceError, UserError
from dipapprox.language import mechanism as modules
from dipapprox.language.domains import parse_rational
from dipapprox.language.load import (
    DIP,
    DIPA,
    DPG,
    PYTHON,
    language_of,
    load,
    parts_of_python,
    read_text,
)
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.run import Options
from dipapprox.privacy.scope import widening_by_pairs
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.proofs.subject import load_subject
from dipapprox.questions.arguments import spelled_as_keyword
from dipapprox.questions.claim_lines import claim_lines, has_claims, report_elsewhere
from dipapprox.questions.decide import Decide
from dipapprox.questions.prove import Proof, Prove
from dipapprox.questions.question import Question, read
from dipapprox.questions.verify import Verify
from dipapprox.source import Diagnostic, SourceFile, Span

_CLAIM = re.compile(
    r"(?:(?P<answer>DP|Not_DP|Unknown|refused)(?: \((?P<structure>[A-Z]{2})\))?)?"
    r"(?:(?:^|, )least budget (?P<least>\S+?))?"
    r"(?: for (?:eps in (?P<interval>\S+)|(?P<reals>real inputs)|all (?P<any>\w+)))?"
    r"(?: at (?P<settings>.+))?"
)
_ARGUMENTS: Mapping[type[Question], tuple[str, ...]] = {
    Verify: ("eps", "eps_prv", "delta", "pairs"),
    Decide: ("budget", "delta", "pairs"),
    Prove: ("budget", "stops", "examiner", "eps"),
}
_WORDS: Mapping[str, type[Verify | Decide | Prove]] = {
    "expected": Verify,
    "decide": Decide,
    "prove": Prove,
}

REFUSED = "refused"  # the answer of a question that makes no sense for a program


class StatedClaim(Record):
    """A question about a program, and the answer that it must have."""

    text: str  # as written, without the word before the colon
    span: Span  # where
    question: Verify | Decide | Prove
    answer: str  # "DP", "Not_DP", "Unknown" or "refused"
    least: Fraction | None  # the least budget, of `prove`; None for none in particular
    structure: str  # what leaves an automaton without a budget: "LC", …; "" for whatever
    parameters: Mapping[str, Fraction]  # of the program
    for_all: str | None  # the parameter that may be any number; None for none


class ClaimOutcome(Enum):
    HOLDS = "holds"
    FALSE = "false"
    UNKNOWN = "unknown"
    ERROR = "error"


class Tested(Record):
    claim: StatedClaim
    outcome: ClaimOutcome
    message: str  # what was found instead, in lines; "" if the claim holds
    seconds: float  # what it took


def read_claims(text: str, name: str, *, docstring: bool = False) -> tuple[StatedClaim, ...]:
    """Read the claims of a program; `name` is what messages call it."""
    source, diagnosis = SourceFile(name, text), Diagnosis()
    found = []
    for word, span in claim_lines(source, diagnosis, docstring=docstring):
        try:
            found.append(_read(word, span.text, span))
        except UserError as error:
            said = error.diagnostics[0] if isinstance(error, SourceError) else error
            diagnosis.report("claim error", said.message, span, said.hint)
    diagnosis.finish()
    return tuple(found)


def claims_in(path: Path) -> dict[Path, tuple[StatedClaim, ...]]:
    """Read the claims of a file, or of all programs in a folder.

    Args:
        path: A program, an automaton, a file of Python (which is read), `module.py:name`; or a
            folder: of its Python files those with mechanisms that claim something, and nothing of
            what is hidden.

    Returns:
        The claims of each program; none for one without any.

    Raises:
        UserError: If a file cannot be read, or has lines that are no claims; of a folder, all.
    """
    if path.is_dir():
        kinds = tuple(f".{kind}" for kind in (DPG, DIP, DIPA, PYTHON))
        walk = os.walk(path)  # folders that go away meanwhile hold nothing
        known = sorted(Path(own, name) for own, _, names in walk for name in names)
        files = [
            file
            for file in known
            if file.suffix in kinds
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        ]
        claims: dict[Path, tuple[StatedClaim, ...]] = {}
        wrong: list[Diagnostic] = []
        for file in files:
            try:
                claims |= claims_in(file) if language_of(file) != PYTHON or has_claims(file) else {}
            except SourceError as error:
                wrong += error.diagnostics
            except UserError as error:
                wrong.append(Diagnostic("error", error.message, None, error.hint))
        if wrong:
            raise SourceError(wrong)
        return claims
    if language_of(path) != PYTHON:
        return {path: read_claims(read_text(path), str(path))}
    file, name = parts_of_python(path)
    text = read_text(file)
    everything = modules.mechanisms_in(file, text)
    found = {name: modules.read_mechanism(file, text, name)} if name else everything
    diagnosis = Diagnosis()
    docstrings = [mechanism.__doc__ or "" for mechanism in everything.values()]
    report_elsewhere(SourceFile(str(file), text), docstrings, diagnosis)
    diagnosis.finish()
    named = {Path(f"{file}:{each}"): mechanism for each, mechanism in found.items()}
    return {
        place: read_claims(_dedented(mechanism), f"{place}, docstring", docstring=True)
        for place, mechanism in named.items()
    }


def _dedented(mechanism: object) -> str:
    """Its docstring as Python 3.13 has it, without the indentation of the function."""
    first, end, others = (mechanism.__doc__ or "").partition("\n")
    return first + end + textwrap.dedent(others)


def _read(word: str, text: str, span: Span) -> StatedClaim:
    match = _CLAIM.fullmatch(text)
    if match is None or not (match["answer"] or match["least"]):
        raise UserError(
            "this is no claim", "for example 'DP at eps = 1/2, delta = 0.01' or 'least budget 1'"
        )
    settings = dict(_settings(match["settings"] or ""))
    everything = match["any"] == "eps"
    about = _WORDS.get(word)
    if about is None:
        proved = match["least"] or match["reals"] or (match["any"] and not everything)
        about = Prove if proved else Verify if "eps" in settings else Decide
    _require_sense(match, about, settings)
    given: dict[str, object] = {
        name: settings.pop(name) for name in _ARGUMENTS[about] if name in settings
    }
    if match["interval"]:
        given["interval"] = match["interval"]
    if match["reals"]:
        given["reals"] = True
    asked: Verify | Decide | Prove = read(about, given, spelled_as_keyword)
    return StatedClaim(
        text=text,
        span=span,
        question=asked,
        answer=match["answer"] or Answer.DP.value,
        least=parse_rational(match["least"], "the least budget") if match["least"] else None,
        structure=match["structure"] or "",
        parameters={name: parse_rational(value, name) for name, value in settings.items()},
        for_all=None if everything else match["any"],
    )


def _require_sense(
    match: re.Match[str], about: type[Question], settings: Mapping[str, str]
) -> None:
    """Check that nothing in a claim would be passed over."""
    if (match["interval"] or match["any"] == "eps") and about is not Decide:
        raise UserError("'for eps in' and 'for all eps' are claims without an eps of their own")
    proved = {
        "a least budget": match["least"],
        "real inputs": match["reals"],
        f"'for all {match['any']}'": match["any"] not in (None, "eps"),
        f"the structure ({match['structure']})": match["structure"],
    }
    for what, given in proved.items():
        if given and about is not Prove:
            raise UserError(
                f"{what}: only claims that are proved have this",
                "for example 'Not_DP (LC) for real inputs' or 'least budget 1 for real inputs'",
            )
    if match["structure"] and match["answer"] == REFUSED:
        raise UserError("a question that is refused finds no structure")
    if not match["least"]:
        return
    if match["answer"] not in (None, Answer.DP.value):
        raise UserError(
            f"'{match['answer']}' and a least budget exclude each other",
            "there is a least budget where the answer is DP",
        )
    if match["structure"]:
        raise UserError("where there is a least budget no structure is bad")
    if "budget" in settings:
        raise UserError(
            "a least budget is asked for without another budget", "these are two claims"
        )


def _settings(text: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for part in re.split(r",\s*(?=\w+\s*=)", text) if text else ():
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not name.isidentifier() or not value:
            raise UserError(f"'{part.strip()}' is no setting", "settings are NAME = VALUE")
        if name in seen:
            raise UserError(f"'{name}' is set twice")
        seen.add(name)
        yield name, value


def try_claim(claim: StatedClaim, path: Path, options: Options) -> Tested:
    """Ask the question of a claim about the program at a path, for a Python function
    `module.py:name`, and compare; the limits of the options are this claim's."""
    start = perf_counter()
    try:
        ask = _asking(claim, path, options)
        try:
            found = ask()
        except UserError as error:
            fails = isinstance(error, SourceError) and not isinstance(error, QuestionRefused)
            if claim.answer != REFUSED or fails:
                raise
            outcome, message = ClaimOutcome.HOLDS, ""
        else:
            outcome, message = _compare(claim, found)
    except UserError as error:
        outcome, message = ClaimOutcome.ERROR, error.render()
    except LimitReached as limit:
        outcome, message = ClaimOutcome.UNKNOWN, limit.reason
    return Tested(claim, outcome, message, perf_counter() - start)


_Judged = Verdict | IntervalVerdict | Decision | Proof


def _asking(claim: StatedClaim, path: Path, options: Options) -> Callable[[], _Judged]:
    """Load the program of a claim and return what asks: a program that fails refuses nothing."""
    question = claim.question
    if isinstance(question, Prove):
        subject = load_subject(path, claim.parameters, claim.for_all)
        return lambda: question.answer(subject, options)
    claimed = question.exact_delta if isinstance(question, Verify) else None
    program = load(path, claim.parameters, reals=True, delta=claimed)
    if language_of(path) == DIP and isinstance(question, Verify | Decide):
        wider = widening_by_pairs(question.pairs.text, program)
        program = load(path, claim.parameters, wider)
    return lambda: question.answer(program, options)


def _compare(claim: StatedClaim, found: _Judged) -> tuple[ClaimOutcome, str]:
    if found.interrupted:
        raise KeyboardInterrupt
    answer = found.answer
    told = str(found)
    if claim.least is not None and isinstance(found, Proof):
        upper = found.upper
        if answer.value == claim.answer and found.lower == upper == claim.least:
            return ClaimOutcome.HOLDS, ""
        bounds = f"at least {exact_text(found.lower)}"
        bounds += "" if upper is None else f", at most {exact_text(upper)}"
        if found.has_none:
            return ClaimOutcome.FALSE, f"there is no budget\n{told}"
        possible = found.lower <= claim.least and (upper is None or claim.least <= upper)
        outcome = ClaimOutcome.UNKNOWN if possible else ClaimOutcome.FALSE
        return outcome, f"the least budget is {bounds}\n{told}"
    if answer.value != claim.answer:
        return ClaimOutcome.UNKNOWN if answer is Answer.UNKNOWN else ClaimOutcome.FALSE, told
    if claim.structure and isinstance(found, Proof) and claim.structure not in found.structures:
        return ClaimOutcome.FALSE, f"the structure is another one\n{told}"
    return ClaimOutcome.HOLDS, ""
