"""`dipapprox test`: do the claims that stand with programs hold?

What it found is one answer, in words and as JUnit XML, which services that run tests read.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from dipapprox.cli import command, review
from dipapprox.cli.command import Status, watching
from dipapprox.cli.output import Output, check_place, check_report, write_whole
from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.language.load import PYTHON, file_or_bundled, language_of, parts_of_python, read_text
from dipapprox.limits import Limits
from dipapprox.privacy.description import Description, ProgramText, Table, Tone, count, seconds_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import Options
from dipapprox.questions import arguments
from dipapprox.questions.claims import ClaimOutcome, StatedClaim, Tested, claims_in, try_claim
from dipapprox.source import visible

_TONES = {
    ClaimOutcome.FALSE: Tone.FAILS,
    ClaimOutcome.ERROR: Tone.FAILS,
    ClaimOutcome.UNKNOWN: Tone.OPEN,
}
_WORDS = ("false", "unknown", "with errors")  # of the outcomes but the first, behind their numbers


def shown(outcome: ClaimOutcome) -> str:
    """Write an outcome so that what does not hold is seen."""
    said: str = outcome.value
    return said if outcome is ClaimOutcome.HOLDS else said.upper()


class TestedClaims(Record, Result):
    tested: Mapping[Path, Sequence[Tested]]

    @property
    def outcomes(self) -> Counter[ClaimOutcome]:
        return Counter(each.outcome for cases in self.tested.values() for each in cases)

    def summary(self) -> str:
        outcomes = self.outcomes
        spent = sum(each.seconds for cases in self.tested.values() for each in cases)
        words = ("holds" if outcomes[ClaimOutcome.HOLDS] == 1 else "hold", *_WORDS)
        found = [(outcomes[o], word) for o, word in zip(ClaimOutcome, words, strict=True)]
        parts = [f"{number} {word}" for number, word in found if number]
        total = count(outcomes.total(), "claim")
        where = count(len(self.tested), "program")
        return f"{total} in {where}: {', '.join(parts)} ({seconds_text(spent)})"

    def to_dict(self) -> dict[str, object]:
        outcomes = self.outcomes
        return {
            "claims": [
                {
                    "program": str(path),
                    "claim": each.claim.text,
                    "line": each.claim.span.line,
                    "outcome": each.outcome.value,
                    "message": each.message or None,
                    "seconds": round(each.seconds, 3),
                }
                for path, cases in self.tested.items()
                for each in cases
            ],
            **{outcome.value: outcomes[outcome] for outcome in ClaimOutcome},
        }

    def describe(self) -> Description:
        tables = tuple(
            Table(
                str(path),
                ("outcome", "claim", "found instead"),
                tuple((shown(each.outcome), each.claim.text, each.message) for each in cases),
            )
            for path, cases in self.tested.items()
        )
        found = self.outcomes
        tone = next((tone for outcome, tone in _TONES.items() if found[outcome]), Tone.HOLDS)
        return Description(self.summary(), "test", tone, (), tables)


_ELEMENTS = {
    ClaimOutcome.FALSE: "failure",
    ClaimOutcome.UNKNOWN: "failure",
    ClaimOutcome.ERROR: "error",
}


def junit_xml(tested: Mapping[Path, Sequence[Tested]]) -> str:
    """Return a document with one suite for each program and one case for each claim."""
    root = Element("testsuites")
    for path, cases in tested.items():
        kinds = [_ELEMENTS.get(each.outcome, "") for each in cases]
        counts = {
            "tests": str(len(cases)),
            "failures": str(kinds.count("failure")),
            "errors": str(kinds.count("error")),
        }
        spent = f"{sum(each.seconds for each in cases):.3f}"
        suite = SubElement(root, "testsuite", {"name": str(path), **counts, "time": spent})
        for each, kind in zip(cases, kinds, strict=True):
            said = {"classname": str(path), "name": each.claim.text, "time": f"{each.seconds:.3f}"}
            case = SubElement(suite, "testcase", said)
            if kind:
                first = each.message.partition("\n")[0]
                why = SubElement(case, kind, {"message": first, "type": each.outcome.value})
                why.text = each.message
    indent(root, "")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, "unicode")}\n'


_JUNIT = "--junit"


def add_words(parser: argparse.ArgumentParser) -> None:
    help = "programs, automata, Python files (or module.py:name), folders"
    parser.add_argument("files", type=command.path, nargs="+", metavar="FILE", help=help)
    parser.add_argument(
        _JUNIT, type=command.path, metavar="OUT", help="write a report as JUnit XML"
    )
    help = "a file without claims is no mistake"
    parser.add_argument("--allow-empty", action="store_true", help=help)
    help = "wall-clock time for each claim"
    parser.add_argument("--timeout", dest="each_timeout", metavar="SECONDS", help=help)
    command.add_output(parser)
    command.add_report(parser)


def run(words: argparse.Namespace, out: Output) -> int:
    given, memory = words.each_timeout, command.default_memory()
    seconds = None if given is None else arguments.seconds(given, "--timeout")
    if words.junit is not None:
        check_place(words.junit, _JUNIT)
    if words.report is not None:
        check_report(words.report)
    claims: dict[Path, tuple[StatedClaim, ...]] = {}
    for path in words.files:
        found = claims_in(file_or_bundled(path))
        if not words.allow_empty and not any(found.values()):
            hint = "a line such as '# claim: DP at eps = 1, delta = 0' is one"
            raise UserError(f"there are no claims in '{path}'", hint)
        claims |= {program: asked for program, asked in found.items() if asked}
    listings = [] if words.report is None else _listings(claims)
    tested: dict[Path, list[Tested]] = {}
    for path, asked in claims.items():
        if not words.json:
            out.write(f"{visible(str(path))}\n")
        for claim in asked:
            limits = Limits(seconds=seconds, memory=memory)
            with watching(limits):
                result = try_claim(claim, path, Options(limits=limits))
            tested.setdefault(path, []).append(result)
            if not words.json:
                out.write(_line(result))
    if words.junit is not None:
        write_whole(words.junit, junit_xml(tested), _JUNIT)
    answer = TestedClaims(tested)
    if words.json:
        out.show_json(answer.to_dict())
    else:
        out.write(f"\n{answer.summary()}\n" if tested else "no claims\n")
    if words.report is not None:
        review.refuse_changes(listings, _listings(claims))
        review.write(words.report, answer, listings, None, None)
    return _status(answer.outcomes)


def _listings(paths: Iterable[Path]) -> list[ProgramText]:
    """Read files for the report, each once: of a function in Python the whole file is shown."""
    parts = (parts_of_python(each)[0] if language_of(each) == PYTHON else each for each in paths)
    files = dict.fromkeys(parts)
    return [ProgramText(str(each), language_of(each), read_text(each)) for each in files]


def _line(tested: Tested) -> str:
    line = f"  {shown(tested.outcome):<8}{tested.claim.text}  ({seconds_text(tested.seconds)})\n"
    return line + "".join(f"          {each}\n" for each in tested.message.splitlines())


def _status(outcomes: Counter[ClaimOutcome]) -> int:
    if outcomes[ClaimOutcome.FALSE]:
        return 1
    if outcomes[ClaimOutcome.ERROR]:
        return Status.BAD_INPUT
    return Status.UNKNOWN if outcomes[ClaimOutcome.UNKNOWN] else 0
