"""The net: a part is asked in every run of the tests, all by `make corpus`."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.cases import cases
from tests.corpus import __main__ as command
from tests.corpus import proofs, questions, store, work
from tests.corpus.agreement import contradictions
from tests.corpus.answers import PROVED, Answer, number
from tests.corpus.asking import ROOT, ask
from tests.corpus.law import BROKEN, Kind, compare
from tests.corpus.part import SECONDS, cover, read_part
from tests.corpus.running import Run

ROWS = store.read_rows()

PART = read_part(ROWS)


@pytest.mark.parametrize("stratum", sorted(PART))
def test_new_answers_meet_the_old_ones(stratum) -> None:
    broken = []
    for row in PART[stratum]:
        findings = compare(row.answer, ask(row.words), row.words)
        broken += [(shlex.join(row.words), f) for f in findings if f.kind in BROKEN]
    assert not broken


def test_the_part_is_short_and_enters_what_is_new_at_each_question() -> None:
    seconds = dict.fromkeys((("a",), ("b",), ("c",), ("d",)), 1.0)
    functions = {("a",): "12", ("b",): "1234", ("c",): "45", ("d",): "12345"}
    entered = {words: frozenset(("", name) for name in names) for words, names in functions.items()}
    assert cover(seconds | {("d",): 5.0}, entered) == [("b",), ("c",)]
    assert cover(seconds, entered) == [("d",)]
    assert {name.split()[0] for name in PART} >= {
        *("verify", "profile", "calibrate", "decide", "prove", "compose", "probability", "python")
    }
    assert sum(row.seconds for rows in PART.values() for row in rows) < 2 * SECONDS


def test_answers_agree_with_each_other() -> None:
    assert contradictions(ROWS) == []


def test_a_verdict_that_contradicts_others_is_noticed() -> None:
    program = ("verify", "x.dpg", "--eps", "1", "--delta", "1/10")
    profile = ("profile", "x.dpg", "--eps", "1", "--eps-prv", "1/2")
    enclosed = store.Row(profile, Answer(0, ends={"delta_enclosure": ("0.2", "0.21")}), 0.1)
    for words, verdict, wrong in [
        ((*program, "--eps-prv", "1/2"), "DP", True),
        ((*program, "--eps-prv", "1/2"), "Not_DP", False),
        ((*program, "--eps-prv", "1/4"), "DP", True),
        (program, "DP", False),
        ((*program[:4], "--delta", "3/10"), "Not_DP", True),
        (("decide", "x.dpg", "--budget", "1/2"), "DP", True),
        (("decide", "x.dpg"), "DP", False),
    ]:
        rows = [enclosed, store.Row(words, Answer(0, verdict), 0.1)]
        assert bool(contradictions(rows)) is wrong, words


def test_no_question_is_much_more_work_than_before() -> None:
    before = work.read_work()
    done = subprocess.run(
        [sys.executable, "-m", "tests.corpus.work"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    now: dict[str, int] = json.loads(done.stdout)
    assert now.keys() == before.keys()
    more = {
        name: (before[name], calls) for name, calls in now.items() if too_many(before, name, calls)
    }
    assert not more


def too_many(before: dict[str, int], name: str, calls: int) -> bool:
    return not calls or calls > work.ALLOWED * before[name] + work.SPARE


def test_there_are_thousands_of_questions_about_everything() -> None:
    assert 2000 <= len(ROWS) <= 5000
    words = {word for row in ROWS for word in row.words}
    assert [file for file in questions.repository() if file not in words] == []
    data = [store.ANSWERS]
    data += [path for path in (store.HERE / "programs").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in data) < 2_200_000


def test_every_file_that_is_asked_about_is_there_and_no_other() -> None:
    texts = {str(path.relative_to(ROOT)) for path in questions.TEXTS.rglob("*.*")}
    used = {
        word.partition(".py:")[0] + (".py" if ".py:" in word else "")
        for row in ROWS
        for word in row.words
    }
    assert {word for word in used if word.startswith("tests/corpus/programs/")} <= texts


@pytest.mark.parametrize("row", [row for row in ROWS if row.answer.verdict == "DP"][::40])
def test_an_answer_that_is_stored_flips(row) -> None:
    flipped = Answer(1, "Not_DP", row.answer.ends, "00000000")
    assert [f.kind for f in compare(row.answer, flipped)] == [Kind.FLIPPED]
    unknown = Answer(3, "Unknown", row.answer.ends, row.answer.witness)
    assert [f.kind for f in compare(row.answer, unknown)] == [Kind.LOST]
    assert [f.kind for f in compare(unknown, row.answer)] == [Kind.DECIDED]
    assert [f.kind for f in compare(row.answer, Answer(2))] == [Kind.CHANGED]


def moved(ends: tuple[str, str], by: Fraction) -> tuple[str, str]:
    low, high = (str(number(end) + by) for end in ends)
    return low, high


def test_the_law_of_ends() -> None:
    ends = ("0.25", "0.26")
    old = Answer(0, ends={"delta_enclosure": ends})

    def kinds(new: tuple[str, str]) -> list[Kind]:
        return [f.kind for f in compare(old, Answer(0, ends={"delta_enclosure": new}))]

    assert kinds(ends) == kinds(("0.26", "0.27")) == []
    assert kinds(moved(ends, Fraction(2, 100))) == [Kind.APART]
    assert kinds(("0.2", "0.4")) == [Kind.WIDER]
    wide = Answer(0, ends={"delta_enclosure": ("0.2", "0.4")})
    assert compare(old, wide, ("profile", "x.dpg", "--width", "0.3")) == []
    assert compare(Answer(0, "DP", old.ends), Answer(0, "DP", wide.ends)) == []
    assert kinds(("0.251", "0.2510001")) == [Kind.NARROWER]
    assert [f.kind for f in compare(old, Answer(0))] == [Kind.LOST]


def test_the_delta_of_a_violation_belongs_to_its_witness() -> None:
    def violated(ends: tuple[str, str], witness: str) -> Answer:
        return Answer(1, "Not_DP", {"delta_enclosure": ends}, witness)

    old = violated(("0.25", "0.26"), "a")
    assert compare(old, violated(("0.3", "0.31"), "b")) == []
    assert [f.kind for f in compare(old, violated(("0.3", "0.31"), "a"))] == [Kind.APART]


def test_what_was_proved_stays_proved() -> None:
    plain, asked = ("verify", "x.dpg"), ("verify", "x.dpg", proofs.FLAG)
    kept, none = Answer(0, "DP", proof=PROVED), Answer(0, "DP")
    assert [f.kind for f in compare(kept, none, asked)] == [Kind.LOST]
    assert compare(kept, none, plain) == compare(kept, kept, asked) == []
    refused = Answer(0, "DP", proof="too much work")
    assert [f.kind for f in compare(refused, kept, plain)] == [Kind.DECIDED]


@cases(
    "answer, seconds, words, proof",
    (Answer(0, "DP", proof=PROVED), 0.3, ("verify", "x.dpg", proofs.FLAG), PROVED),
    (Answer(0, "DP", proof=PROVED), 0.31, ("verify", "x.dpg"), "proved slowly"),
    (Answer(3, "Unknown", proof="too much work"), 0.1, ("verify", "x.dpg"), "too much work"),
    (None, 11.0, ("verify", "x.dpg"), "none in time"),
    (Answer(2), 0.1, ("verify", "x.dpg"), "not to be asked for"),
)
def test_a_proof_is_asked_for_where_it_costs_little(answer, seconds, words, proof) -> None:
    row = store.Row(("verify", "x.dpg"), Answer(0, "DP"), 0.1)
    assert proofs.wants_proof(row)
    found = proofs.with_proof(row, Run((*row.words, proofs.FLAG), answer, seconds))
    assert (found.words, found.answer) == (words, Answer(0, "DP", proof=proof))
    assert proofs.plain(found.words) == row.words


def test_every_answer_that_can_have_a_proof_says_whether_it_has_one() -> None:
    told = [row for row in ROWS if row.answer.proof is not None]
    assert {proofs.plain(row.words) for row in told} == {
        proofs.plain(row.words)
        for row in ROWS
        if proofs.wants_proof(replace(row, words=proofs.plain(row.words)))
    }
    asked = [row for row in told if proofs.FLAG in row.words]
    assert {row.answer.proof for row in asked} == {PROVED}
    assert len(asked) > 0.5 * len(told)


def test_the_report_counts_and_fails(capsys) -> None:
    row = store.Row(("verify", "x.dpg"), Answer(0, "DP"), 0.1)
    runs = {
        "met": Run(row.words, Answer(0, "DP"), 0.2),
        "flipped": Run(row.words, Answer(1, "Not_DP"), 0.2),
        "slower": Run(row.words, Answer(0, "DP"), 0.9),
        "too slow": Run(row.words, Answer(0, "DP"), 9.0),
        "crashed": Run(row.words, None, 1.0),
    }
    found = {name: command.findings_of(row, run) for name, run in runs.items()}
    assert command.report(found, dict.fromkeys(found, "why")) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines.count("    why") == 3  # flipped, too slow, crashed
    for part in ("5 questions", "1 met", "1 slower", "1 LOST", "1 FLIPPED", "1 TOO SLOW"):
        assert part in last
    assert command.report({"met": []}, {}) == 0


PLANTED = """
from tests.corpus.__main__ import BROKEN, findings_of
from tests.corpus.asking import ask
from tests.corpus.running import Run
from tests.corpus.store import read_rows
import {module}

before = {module}.{name}
{module}.{name} = lambda *words: {fault}
quick = [row for row in read_rows() if row.seconds < 0.1 and row.words[0] == "{command}"]
found = [findings_of(row, Run(row.words, ask(row.words), 0.0)) for row in quick[::{every}]]
print([kind.value for kind in BROKEN if kind in {{each.kind for one in found for each in one}}])
"""


@cases(
    "command, every, module, name, fault",
    (
        *("probability", 40, "dipapprox.arithmetic.double_functions"),
        *("_exponential", "before(*words) * (1 + 1e-7)"),
    ),
    (
        *("profile", 120, "dipapprox.pairs.divergence", "exponential"),
        "type(before(*words)).exact(before(*words).upper + 2**-30)",
    ),
)
def test_a_wrong_constant_is_noticed(command, every, module, name, fault) -> None:
    """In a process of its own: functions that were sampled before would hide it."""
    script = PLANTED.format(command=command, every=every, module=module, name=name, fault=fault)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout not in ("", "[]\n")


def test_only_one_module_knows_what_is_inside_the_package() -> None:
    """A redesign mends this file and no other."""
    inside = re.compile(r"^(?:from|import) dipapprox\.", re.MULTILINE)
    files = (ROOT / "tests" / "corpus").glob("*.py")
    knowing = {path.name for path in files if inside.search(path.read_text(encoding="utf-8"))}
    assert knowing == {"asking.py"}
