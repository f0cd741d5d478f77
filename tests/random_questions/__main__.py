"""python -m tests.random_questions: ask random questions, count false, half, slow and failed.

python -m tests.random_questions compositions published --seed 7 --count 300 --answers FILE

Answers are lines of JSON, a hundred of each kind in turn; what is in FILE already is not asked
again. Times are of the processor.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

from tests.random_questions import Question, apart, compositions, half, published, real_inputs

KINDS: dict[str, Callable[[Random], Question]] = {
    "compositions": compositions.draw,
    "published": published.draw,
    "real_inputs": real_inputs.draw,
}
SLOW = 1.0  # seconds of the processor: what takes longer is counted, whatever it answers


def judge(question: Question, seconds: float) -> tuple[str, str, float]:
    """Return a word for an answer (false, failed, half, whole), what was said, the time it took."""
    start = time.process_time()
    try:
        # A busy machine takes nothing away: limits ask for the time of this process.
        with mock.patch("dipapprox.limits.time", SimpleNamespace(monotonic=time.process_time)):
            lower, upper, reason = question.ask(seconds)
    except Exception as error:  # a crash is what is looked for
        return "failed", f"{type(error).__name__}: {error}", time.process_time() - start
    taken = time.process_time() - start
    theirs = question.truth()
    said = f"[{lower:.9g}, {upper:.9g}]" + (f" ({reason})" if reason else "")
    if theirs is not None:
        said += f"; other evaluator: [{theirs[0]:.9g}, {theirs[1]:.9g}]"
        if apart((lower, upper), theirs):
            return "false", said, taken
    return ("half" if half((lower, upper)) else "whole"), said, taken


def table(answers: list[dict[str, Any]]) -> str:
    """Return what was answered of each kind and form, as Markdown."""
    asked: dict[str, list[dict[str, Any]]] = {}
    for each in {(each["kind"], each["seed"]): each for each in answers}.values():  # the last
        asked.setdefault(each["kind"], []).append(each)
        asked.setdefault(f"{each['kind']}: {each['form']}", []).append(each)
    lines = ["| form | asked | false | half | slow | failed | median |", "|---" * 7 + "|"]
    for form, own in sorted(asked.items()):
        times = [each["seconds"] for each in own]
        words, slow = Counter(each["word"] for each in own), sum(each > SLOW for each in times)
        told = form, len(own), words["false"], words["half"], slow, words["failed"]
        lines.append(f"| {' | '.join(map(str, told))} | {statistics.median(times):.2f} s |")
    return "\n".join(lines)


def main() -> int:
    """Ask, print every answer that is not whole or slow, then the counts of each form."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_questions")
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1, help="questions seed, seed + 1, …")
    parser.add_argument("--count", type=int, default=100, help="of each kind")
    parser.add_argument("--seconds", type=float, default=10, help="limit of one question")
    parser.add_argument("--answers", type=Path, help="file to which answers are appended")
    given = parser.parse_args()
    answers = []
    if given.answers and given.answers.exists():
        answers = [json.loads(line) for line in given.answers.read_text("utf-8").splitlines()]
    known = {(each["kind"], each["seed"]) for each in answers}
    seeds = range(given.seed, given.seed + given.count)
    turns = [seeds[at : at + 100] for at in range(0, given.count, 100)]
    for kind, seed in [(kind, n) for turn in turns for kind in given.kinds for n in turn]:
        if (kind, seed) in known:
            continue
        question = KINDS[kind](Random(seed))
        word, said, taken = judge(question, given.seconds)
        answers.append({"kind": kind, "seed": seed, "form": question.form, "word": word})
        answers[-1] |= {"seconds": round(taken, 3), "said": said, "text": question.text}
        if given.answers:
            with given.answers.open("a", encoding="utf-8") as file:
                print(json.dumps(answers[-1], ensure_ascii=False), file=file)
        if word != "whole" or taken > SLOW:
            about = f"{kind} {seed} {word} {taken:.1f} s: {question.form}: {said}"
            print(about, question.text, sep="\n", flush=True)
    print(table(answers))
    return int(any(each["word"] in ("false", "failed") for each in answers))


if __name__ == "__main__":
    raise SystemExit(main())
