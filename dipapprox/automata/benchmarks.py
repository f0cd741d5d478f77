"""Families of automata that grow with a number, as `.dipa` texts: for tables and benchmarks.

m-RANGE and k-MIN-MAX are those of Chadha, Sistla, Viswanathan and Bhusal (CCS 2023), as their
release has them; the sparse vector technique with c positives that of the coupling paper; all
pairs of k thresholds, compared round and round, have exponentially many orders of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


def range_text(m: int) -> str:
    """Are m inputs in turn, again and again, within their m noisy ranges?"""
    lines = []
    for j in range(1, m + 1):
        following = f"qa{j + 1}" if j < m else "qc1"
        lines += [
            f"(qa{j}:non-input, 1/{4 * m}, 0): low{j} := insample; output obot; goto qb{j}",
            f"(qb{j}:non-input, 1/{4 * m}, 1): high{j} := insample; output obot; goto {following}",
        ]
    for j in range(1, m + 1):
        inside = f"insample >= low{j} && insample < high{j}"
        over = f"insample >= low{j} && insample >= high{j}"
        under = f"insample < low{j} && insample < high{j}"
        lines.append(
            f"(qc{j}, 1/4, 0): if ({inside}) then output ocont; goto qc{j % m + 1}"
            f" elseif ({over}) then output otop; goto qh"
            f" elseif ({under}) then output obot; goto qh"
        )
    return "\n".join(lines)


def min_max_text(k: int) -> str:
    """Which is the first input outside the range of k noisy ones? (k >= 2)"""
    rate = f"1/{4 * k}"
    lines = [f"(q1, {rate}, 0): min := insample, max := insample; output oread; goto q2"]
    over = "insample >= max && insample >= min"
    inside = "insample >= min && insample < max"
    under = "insample < max && insample < min"
    for i in range(2, k + 1):
        lines.append(
            f"(q{i}, {rate}, 0): if ({over}) then max := insample; output oread; goto q{i + 1}"
            f" elseif ({inside}) then output oread; goto q{i + 1}"
            f" elseif ({under}) then min := insample; output oread; goto q{i + 1}"
        )
    lines.append(
        f"(q{k + 1}, 1/4, 0): if ({inside}) then output ocont; goto q{k + 1}"
        f" elseif ({over}) then output otop; goto qh elseif ({under}) then output obot; goto qh"
    )
    return "\n".join(lines)


def all_pairs_text(k: int) -> str:
    """Inputs are compared with all pairs of k thresholds, round and round. (k >= 2)"""
    lines = []
    for i in range(k):
        following = f"qt{i + 1}" if i + 1 < k else "qp0"
        lines.append(f"(qt{i}:non-input, 1, {i}): x{i} := insample; output ob; goto {following}")
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    for number, (i, j) in enumerate(pairs):
        target = f"qp{(number + 1) % len(pairs)}"
        branches = [
            (f"insample >= x{i} && insample < x{j}", "oa"),
            (f"insample >= x{j} && insample < x{i}", "ob"),
            (f"insample >= x{i} && insample >= x{j}", "oc"),
            (f"insample < x{i} && insample < x{j}", "od"),
        ]
        steps = " elseif ".join(
            f"({guard}) then output {output}; goto {target}" for guard, output in branches
        )
        lines.append(f"(qp{number}, 1, 0): if {steps}")
    return "\n".join(lines)


def sparse_vector_text(c: int) -> str:
    """Above one noisy threshold or not, until c inputs were."""
    lines = ["(q0:non-input, 1/2, 0): x := insample; output oi; goto q1"]
    for i in range(1, c + 1):
        lines.append(
            f"(q{i}, 1/{4 * c}, 0): if (insample < x) then output obot; goto q{i}"
            f" elseif (insample >= x) then output otop; goto q{i + 1}"
        )
    return "\n".join(lines)


FAMILIES: Mapping[str, Callable[[int], str]] = {
    "range": range_text,
    "min-max": min_max_text,
    "all-pairs": all_pairs_text,
    "sparse-vector": sparse_vector_text,
}
