"""python -m tests.corpus: ask all questions again and say what has become of the answers.

python -m tests.corpus                        compare; the status is 1 if the law is broken
python -m tests.corpus --only "svt_gauss"     those whose words contain this
python -m tests.corpus --better               compare, and keep answers that say more and no less
python -m tests.corpus --write                ask what `questions` lists, and write the data
"""

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import indent

from tests.corpus import questions
from tests.corpus.asking import ask
from tests.corpus.law import BROKEN, MORE, Finding, Kind, compare, compare_seconds
from tests.corpus.proofs import FLAG, PATIENCE, plain, wants_proof, with_proof
from tests.corpus.running import Run, run_all
from tests.corpus.store import Answer, Row, Words, read_rows, write_rows
from tests.corpus.work import write_work

LONGEST = 2.5
"""Calibrated seconds: what takes longer is no question of the corpus, unless it is in `SLOW`."""

LONGEST_OF_SLOW = 60.0

BAD_INPUT = 0.15
"""The share of bad input that is kept of the questions that the rules make."""


def findings_of(row: Row, run: Run[Words, Answer]) -> list[Finding]:
    """Return what a new answer is to an old one."""
    if run.answer is None:
        return [Finding(Kind.LOST, f"no answer after {run.seconds:.0f} s, or a crash")]
    return compare(row.answer, run.answer, row.words) + compare_seconds(row.seconds, run.seconds)


def report(found: dict[str, list[Finding]], said: dict[str, str]) -> int:
    """Print what was found, and what broken answers said; return the exit status."""
    for question, findings in sorted(found.items()):
        for finding in findings:
            if finding.kind is not Kind.NARROWER:
                print(f"{finding.kind.value}: {question}\n    {finding.words}")
            if finding.kind in BROKEN and said.get(question):
                print(indent(said[question], "    "))
    counts = Counter(finding.kind for findings in found.values() for finding in findings)
    met = sum(not findings for findings in found.values())
    parts = [f"{len(found)} questions", f"{met} met"]
    parts += [f"{counts[kind]} {kind.value}" for kind in Kind]
    print(", ".join(parts))
    return int(any(counts[kind] for kind in BROKEN))


def compare_all(only: str, jobs: int, better: bool = False) -> int:
    """Ask every question of the data again; perhaps keep what became better."""
    rows = {row.words: row for row in read_rows() if only in shlex.join(row.words)}
    found, said, more = dict[str, list[Finding]](), dict[str, str](), list[Row]()
    hardest = sorted(rows, key=lambda words: -rows[words].seconds)
    for run in run_all(ask, hardest, jobs, lambda words: 6 * rows[words].seconds + 6):
        findings = findings_of(row := rows[run.question], run)
        found[shlex.join(run.question)] = findings
        said[shlex.join(run.question)] = run.answer.said if run.answer else ""
        kinds = {each.kind for each in findings}
        if run.answer is not None and kinds & MORE and not kinds & BROKEN:
            more.append(Row(row.words, run.answer, run.seconds))
        if sys.stderr.isatty():
            print(f"\r{len(found)} of {len(rows)}", end="", file=sys.stderr)
    if better:
        now = {row.words: row for row in [*read_rows(), *more]}
        write_rows((now | asked_for_proofs(more, jobs)).values())
    return report(found, said)


def asked_for_proofs(rows: Iterable[Row], jobs: int) -> dict[Words, Row]:
    """Return questions, by their words, with what the kernel says of their answers."""
    wanted = {(*row.words, FLAG): row for row in rows if wants_proof(row)}
    runs = run_all(ask, list(wanted), jobs, lambda words: 6 * wanted[words].seconds + PATIENCE)
    return {wanted[run.question].words: with_proof(wanted[run.question], run) for run in runs}


def write_all(only: str, jobs: int) -> int:
    """Ask what is listed and write the answers; say what was left out, and what has changed."""
    slow = set(questions.slow())
    listed = [*questions.slow(), *(words for words in questions.questions() if words not in slow)]
    asked = [words for words in listed if only in shlex.join(words)]
    before = {plain(row.words): row for row in read_rows()}
    now = {words: row for words, row in before.items() if only not in shlex.join(words)}
    left_out = []
    for run in run_all(ask, asked, jobs, lambda w: LONGEST_OF_SLOW if w in slow else LONGEST):
        if run.answer is None:
            left_out.append(run.question)
        elif run.answer.status != 2 or questions.is_kept(run.question, BAD_INPUT):
            now[run.question] = Row(run.question, run.answer, run.seconds)
    now |= asked_for_proofs([row for w, row in now.items() if only in shlex.join(w)], jobs)
    write_rows(now.values())
    if not only:
        write_work(read_rows())
    for words in left_out:
        print(f"left out, no answer in time: {shlex.join(words)}")
    for words in sorted(before.keys() - now.keys() - set(left_out)):
        print(f"not asked any more: {shlex.join(words)}")
    return report(
        {
            shlex.join(words): compare(before[words].answer, row.answer, words)
            for words, row in now.items()
            if words in before and only in shlex.join(words)
        },
        {shlex.join(words): row.answer.said for words, row in now.items()},
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the data anew")
    parser.add_argument("--only", default="", metavar="TEXT", help="questions with this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--better", action="store_true", help="write what became better")
    given = parser.parse_args(words)
    if given.write:
        return write_all(given.only, given.jobs)
    return compare_all(given.only, given.jobs, given.better)


if __name__ == "__main__":
    sys.exit(main())
