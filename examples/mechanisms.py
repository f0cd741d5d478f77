"""Mechanisms as Python functions: dipapprox verify examples/mechanisms.py:svt --eps 1 --delta 0."""

from typing import Annotated

from dipapprox import Condition, Quantity, Weight, gauss, laplace, mechanism, where


@mechanism(adjacent="linf 1")
def svt(
    q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 2, T: int = 0
) -> Annotated[list[int], "[N] in {0, 1}"]:
    """The index of the first query above a noisy threshold.

    claim: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 3
    """
    threshold = gauss(T, 2 / eps)
    for i in range(N):
        noisy = gauss(q[i], 4 / eps)
        if noisy >= threshold:
            return [0] * i + [1] + [0] * (N - i - 1)
    return [0] * N


@mechanism(adjacent="linf 1")
def count_above(
    q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 3, T: int = 1
) -> Annotated[Quantity, "count in 0..N"]:
    """How many queries are above a noisy threshold.

    claim: DP for all eps
    """
    threshold = laplace(T, 2 / eps)
    count = 0 * q[0]
    for query in q:
        count += where(laplace(query, 4 / eps) > threshold, 1, 0)
    return count


@mechanism(adjacent="linf 1")
def above(
    q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 3, T: int = 1
) -> Annotated[list[bool], "[N] in bool"]:
    """Which queries are above a noisy threshold.

    claim: least budget 3/4 for real inputs
    """
    threshold = laplace(T, 2 / eps)
    flags: list[bool] = []
    for query in q:
        if laplace(query, 4 / eps) > threshold:
            flags.append(True)
        else:
            flags.append(False)
    return flags


@mechanism(adjacent="linf 1")
def sign(q: Annotated[Quantity, "in -2..2"], eps: Weight) -> Annotated[Condition, "in {0, 1}"]:
    """Is a noisy number positive?"""
    return laplace(q, 1 / eps) > 0
