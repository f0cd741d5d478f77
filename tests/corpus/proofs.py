"""What the kernel says to an answer: `proof` in the data.

    python -m tests.corpus.proofs     how many answers are proved, by command; why others are not

An answer whose proof costs little is asked for with `--proved`: then the law says that it stays
proved. Of those that then say less, as the kernel's ends of enclosures are wider, it is a half.
"""

import shlex
from collections import Counter, defaultdict
from dataclasses import replace

from tests.corpus.answers import PROVED, Answer
from tests.corpus.law import VERDICTS
from tests.corpus.questions import drawn
from tests.corpus.running import Run
from tests.corpus.store import Row, Words, read_rows

FLAG = "--proved"

COMMANDS = ("verify", "profile", "calibrate", "decide", "prove", "compose")

_OTHERS = ("--curve", "--renyi", "--violations", "--least-delta", FLAG)
"""What is asked with these has no proofs."""

PATIENCE = 10.0
"""Calibrated seconds for a proof, and six times those for the answer."""

CHEAP, SPARE = 2, 0.1
"""A proof costs little that takes, with its answer, so many times as long and so many seconds."""

OF_WIDER = 0.5


def wants_proof(row: Row) -> bool:
    """Whether something is said that can have a proof."""
    decided = row.answer.status in (0, 1) and row.answer.verdict in (None, *VERDICTS)
    return decided and row.words[0] in COMMANDS and not set(_OTHERS) & set(row.words)


def plain(words: Words) -> Words:
    """Return a question as it is asked without a proof."""
    return tuple(word for word in words if word != FLAG)


def with_proof(row: Row, run: Run[Words, Answer]) -> Row:
    """Return a question with what the kernel says, asked with a proof where that costs little."""
    told = run.answer
    if told is None or told.proof != PROVED:
        why = "none in time" if told is None else told.proof or "not to be asked for"
        return replace(row, answer=replace(row.answer, proof=why))
    why, same = PROVED, replace(told, proof=None) == row.answer
    if told.status != row.answer.status:
        why = "proved in part"
    elif run.seconds > CHEAP * row.seconds + SPARE:
        why = "proved slowly"
    elif same or drawn(f"proof {shlex.join(row.words)}") < OF_WIDER:
        return Row(run.question, told, run.seconds)
    return replace(row, answer=replace(row.answer, proof=why))


def main() -> None:
    """Print how many answers are proved, and why others are not."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in read_rows():
        if row.answer.proof is not None:
            command = f"{row.words[0]} {row.answer.verdict or ''}".strip()
            counts[command][row.answer.proof] += 1
    for command, found in sorted(counts.items()):
        print(f"{command}: {found[PROVED]} of {found.total()} proved")
        for why, count in found.most_common():
            if why != PROVED:
                print(f"    {count:4} {why}")


if __name__ == "__main__":
    main()
