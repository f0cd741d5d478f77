"""The three seams: a part of their entries, and faults that are planted and must be noticed."""

import re
import subprocess
import sys
from fractions import Fraction

import pytest

from tests.corpus.asking import ROOT
from tests.corpus.law import BROKEN, Kind
from tests.corpus.questions import drawn
from tests.corpus.seams import data, outcomes

ENTRIES = data.read_all()

MOST = {"outcomes": 60, "events": 120, "divergences": 300}
"""Entries of a seam that are asked in every run."""


def part(seam: str) -> list[data.Entry]:
    """The entries of a seam that are asked here, the same in every run."""
    own = [entry for name, entry in ENTRIES if name == seam]
    return sorted(own, key=lambda entry: drawn(data.name_of(seam, entry)))[: MOST[seam]]


@pytest.mark.parametrize("seam", MOST)
def test_new_entries_meet_the_old_ones(seam: str) -> None:
    broken = []
    for entry in part(seam):
        findings = data.compare(seam, entry, data.answer(data.asked(seam, entry)))
        broken += [(data.name_of(seam, entry), f) for f in findings if f.kind in BROKEN]
    assert not broken


def test_outcomes_have_the_mass_1() -> None:
    for entry in part("outcomes")[:25]:
        masses = outcomes.masses(entry["outcomes"])
        assert masses is not None
        low, high = (sum(ends[k] for ends in masses.values()) for k in (0, 1))
        assert low <= 1 <= high and high - low < Fraction(1, 2**20)


def test_other_outcomes_are_noticed() -> None:
    for entry in part("outcomes")[:10]:
        first, *rest = entry["outcomes"]
        without = {**entry, "outcomes": rest}
        assert [f.kind for f in data.compare("outcomes", entry, without)] == [Kind.APART]
        # Half of it twice is another form of the same.
        half = {**first, "weight": [str(Fraction(end) / 2) for end in first["weight"]]}
        assert data.compare("outcomes", entry, {**entry, "outcomes": [half, half, *rest]}) == []


PLANTED = """
from tests.corpus.__main__ import BROKEN, findings_of
from tests.corpus.asking import ask
from tests.corpus.running import Run
from tests.corpus.seams import data
from tests.corpus.store import read_rows
import {module}

before = {module}.{name}
{module}.{name} = lambda *words: {fault}
kinds = set()
for seam, entry in [each for each in data.read_all() if each[0] != "outcomes"][::{every}]:
    now = data.answer(data.asked(seam, entry))
    kinds |= {{finding.kind for finding in data.compare(seam, entry, now)}}
for row in [row for row in read_rows() if row.seconds < 0.1 and row.words[0] == "profile"][::60]:
    findings = findings_of(row, Run(row.words, ask(row.words), 0.0))
    kinds |= {{finding.kind for finding in findings}}
print([kind.value for kind in BROKEN if kind in kinds])
"""


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [
        ("dipapprox.arithmetic.double_functions", "_exponential", "before(*words) * (1 + 1e-7)"),
        (
            "dipapprox.pairs.divergence",
            "exponential",
            "type(before(*words)).exact(before(*words).upper + 2**-30)",
        ),
    ],
)
def test_a_wrong_constant_is_noticed(module: str, name: str, fault: str) -> None:
    """In a process of its own: functions that were sampled before would hide it."""
    script = PLANTED.format(module=module, name=name, fault=fault, every=50)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert Kind.APART.value in done.stdout


def test_only_adaptors_know_what_is_inside_the_package() -> None:
    """A redesign mends these files and no others."""
    inside = re.compile(r"^(?:from|import) dipapprox\.", re.MULTILINE)
    knowing = {
        str(path.relative_to(ROOT / "tests" / "corpus"))
        for folder in ("tests/corpus", "tests/corpus/seams")
        for path in (ROOT / folder).glob("*.py")
        if inside.search(path.read_text(encoding="utf-8"))
    }
    seams = {f"seams/{name}.py" for name in ("divergences", "events", "outcomes")}
    assert knowing == {"asking.py", *seams}
