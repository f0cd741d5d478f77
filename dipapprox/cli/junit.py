"""Tested claims as JUnit XML, which services that run tests read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from dipapprox.questions.claims import ClaimOutcome, Tested

_ELEMENTS = {
    ClaimOutcome.FALSE: "failure",
    ClaimOutcome.UNKNOWN: "failure",
    ClaimOutcome.ERROR: "error",
}


def junit_xml(tested: Mapping[Path, Sequence[Tested]]) -> str:
    """Return a document with one suite for each program and one case for each claim."""
    suites = "".join(_suite(path, cases) for path, cases in tested.items() if cases)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _suite(path: Path, cases: Sequence[Tested]) -> str:
    failures = sum(_ELEMENTS.get(each.outcome) == "failure" for each in cases)
    errors = sum(each.outcome is ClaimOutcome.ERROR for each in cases)
    spent = sum(each.seconds for each in cases)
    head = (
        f'<testsuite name={quoteattr(str(path))} tests="{len(cases)}" failures="{failures}" '
        f'errors="{errors}" time="{spent:.3f}">\n'
    )
    return f"{head}{''.join(_case(path, each) for each in cases)}</testsuite>\n"


def _case(path: Path, tested: Tested) -> str:
    head = (
        f"<testcase classname={quoteattr(str(path))} name={quoteattr(tested.claim.text)} "
        f'time="{tested.seconds:.3f}"'
    )
    element = _ELEMENTS.get(tested.outcome)
    if element is None:
        return f"{head}/>\n"
    first = tested.message.partition("\n")[0]
    said = f'message={quoteattr(first)} type="{tested.outcome.value}"'
    return f"{head}><{element} {said}>{escape(tested.message)}</{element}></testcase>\n"
