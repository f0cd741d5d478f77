"""python -m tests.random_questions: ask random questions, count false, half, slow and failed.

python -m tests.random_questions compositions --seed 7 --count 300
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from tests.random_questions import Question, apart, compositions, half, published, real_inputs

KINDS: dict[str, Callable[[Random], Question]] = {
    "compositions": compositions.draw,
    "published": published.draw,
    "real_inputs": real_inputs.draw,
}


def judge(question: Question, seconds: float) -> tuple[str, str, float]:
    """Return a word for an answer (false, failed, half, whole), what was said, the time it took."""
    start = time.perf_counter()
    try:
        lower, upper, reason = question.ask(seconds)
    except Exception as error:  # a crash is what is looked for
        return "failed", f"{type(error).__name__}: {error}", time.perf_counter() - start
    taken = time.perf_counter() - start
    theirs = question.truth()
    said = f"[{lower:.9g}, {upper:.9g}]" + (f" ({reason})" if reason else "")
    if theirs is not None:
        said += f"; other evaluator: [{theirs[0]:.9g}, {theirs[1]:.9g}]"
        if apart((lower, upper), theirs):
            return "false", said, taken
    return ("half" if half((lower, upper)) else "whole"), said, taken


def main() -> int:
    """Ask, print every answer that is not whole or slow, then the counts of each form."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_questions")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1, help="questions seed, seed + 1, …")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=30, help="limit of one question")
    parser.add_argument("--slow", type=float, default=2, help="print what takes longer")
    given = parser.parse_args()
    words, times = Counter[tuple[str, str]](), dict[str, list[float]]()
    for seed in range(given.seed, given.seed + given.count):
        question = KINDS[given.kind](Random(seed))
        word, said, taken = judge(question, given.seconds)
        words[question.form, word] += 1
        times.setdefault(question.form, []).append(taken)
        if word != "whole" or taken > given.slow:
            print(f"{seed} {word} {taken:.1f} s: {question.form}: {said}", flush=True)
            print(question.text)
    for form, all_times in sorted(times.items()):
        counts = ", ".join(f"{n} {word}" for (of, word), n in sorted(words.items()) if of == form)
        print(
            f"{form}: {counts}; median {statistics.median(all_times):.2f} s,"
            f" longest {max(all_times):.1f} s"
        )
    return int(any(word in ("false", "failed") for _, word in words))


if __name__ == "__main__":
    raise SystemExit(main())
