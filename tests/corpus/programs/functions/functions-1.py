"""Python functions that tests ask about."""

import math
from fractions import Fraction
from typing import Annotated, Any, Literal

import dipapprox
from dipapprox import *

Bit = Annotated[Quantity, "in {0, 1}"]
Out = Annotated[int, "in {0, 1}"]
SCALE = 2


@mechanism(adjacent="linf 1")
def svt_1(
    q: Annotated[list[Quantity], "[N] in {0, 1}"],
    eps: Weight,
    N: int = 2,
    T: int = 0,
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
def count_above_2(
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
def above_3(
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
def sign_4(q: Annotated[Quantity, "in -2..2"], eps: Weight) -> Annotated[Condition, "in {0, 1}"]:
    """Is a noisy number positive?"""
    return laplace(q, 1 / eps) > 0


@mechanism(adjacent="linf 1")
def f_5(q: Bit, eps: Weight) -> Out:
    return ('a', 'b')[q] == 'a'


@mechanism(adjacent="linf 1")
def f_6(q: Bit, eps: Weight) -> Out:
    r = laplace(q, 1 / eps)
    if r > 0:
        if 0 < r and not r == 0 and r >= 0:
            return 1
        raise ValueError
    return 0


@mechanism(adjacent="linf 1")
def f_7(q: Bit, eps: Weight) -> Out:
    if laplace(0, 1) > 1:
        x = choose([0, 1])
    elif laplace(0, 1) > 2:
        x = choose([True, False])
        return x
    else:
        x = laplace(q, 1 / eps) > 0
        x = laplace(x, 1 / eps)
    return x > 0


@mechanism(adjacent="linf 1")
def f_8(q: Bit, k: int = 0, /, *, eps: Weight) -> Out:
    return laplace(q, 1 / eps) > k


@mechanism(adjacent="linf 1")
def f_9(q: Bit, eps: Weight) -> Out:
    import copy
    return copy.deepcopy([laplace(q, 1 / eps)])[0] > 0


@mechanism(adjacent="linf 1")
def f_10(q: Bit, eps: Weight) -> Annotated[tuple[str, Quantity], "level in {low, high}", "y in real"]:
    coin = choose([(q, exp(eps) / (1 + exp(eps))), (1 - q, 1 / (1 + exp(eps)))])
    best = argmax([laplace(coin, 2 / eps), laplace(0, 2 / eps)])
    top = maximum([laplace(best, 1), 0])
    votes = (top > 1) + (top > 2)
    return ["low", "high", "high"][votes], top - Fraction(1, 3)


@mechanism(adjacent="linf 1")
def f_11(q: Bit, eps: Weight) -> Out:
    for _ in range(5):
        if laplace(q, 1 / eps) > 0: return 1
    return 0


@mechanism(adjacent="linf 1")
def f_12(q: Bit, eps: Weight) -> Out:
    def h(): return bool(laplace(q, 1 / eps) > 0)
    for _ in range(5):
        if h(): return 1
    return 0


@mechanism(adjacent="linf 1")
def f_13(q: Bit, eps: Weight) -> Out:
    def h(): return bool(laplace(q, 1 / eps) > 0)
    return any(h() for _ in range(5))


@mechanism(adjacent="linf 1")
def f_14(q: Bit, eps: Weight) -> Out:
    if choose({1: 1, 0: 0}) == 1: return 0
    return [][0]


@mechanism(adjacent="linf 1")
def f_15(eps: Weight, s: Annotated[list[int], "[2] in 0..2"]) -> Out:
    best, rest = max(s), [0, 1]
    while True:
        i = choose(rest)
        p = exp(eps / 2 * (s[i] - best))
        if choose([1, 0], [p, 1 - p]):
            return i
        rest.remove(i)


@mechanism(adjacent="linf 1")
def f_16(q: Bit, eps: Weight) -> Out:
    return choose([q, 1], [exp(eps) / (1 + exp(eps)), 0])


@mechanism(adjacent="linf 1")
def f_17(q: Bit, eps: Weight) -> Out:
    return choose([q, 1], [1 / (1 + exp(eps)), 0])


@mechanism(adjacent="all")
def f_18(on: bool, eps: Weight) -> bool:
    r = laplace(0, 1 / eps)
    return (r > 0) ^ on


@mechanism(adjacent="all")
def f_19(on: bool, eps: Weight) -> bool:
    r = laplace(0, 1 / eps)
    return True ^ on


@mechanism(adjacent="all")
def f_20(q: Literal["low", "high"], on: bool, k: Literal[0, 2], eps: Weight) -> Literal["low", "high"]:
    r = laplace(k, 1 / eps)
    return 'low' if r > 0 and on else q


@mechanism(adjacent="linf 1")
def f_21(q: Bit, eps: Weight) -> bool:
    return laplace(q, 1 / eps) > 0


@mechanism(adjacent="linf 1")
def f_22(q: Bit, eps: Weight) -> Out:
    return laplace(q, max(1, 3 - abs(q - 2)) / eps) > 0


@mechanism(adjacent="linf 1")
def f_23(q: Bit, eps: Weight) -> Out:
    return laplace(q, (1 + q) / eps) > 0


@mechanism(adjacent="linf 1")
def f_24(p: Bit, eps: Weight) -> Out:
    c = choose([0, 1])
    if c == 0:
        return 0
    if p == c:
        return 0
    return p % 3 * 0 + (p + c) % 2


@mechanism(adjacent="linf 1")
def f_25(q: Bit, eps: Weight) -> Out:
    return [0, 1, 2][:q % 2 + 1][-1] + [0, 1][q ** 2] - q // 1


@mechanism(adjacent="linf 1")
def f_26(q: Bit, eps: Weight) -> Out:
    best = -math.inf
    for k in range(2):
        r = laplace(q, 1 / eps)
        if r > best and r < math.inf and not math.inf == r:
            best = r
    return best > 0


@mechanism(adjacent="all")
def f_27(q: Annotated[str, "in {low, high}"], eps: Weight) -> Out:
    return q != 'eps'


@mechanism(adjacent="all")
def f_28(q: Annotated[str, "in {low, high}"], eps: Weight) -> Out:
    return q == 'other'


@mechanism(adjacent="linf 1")
def svt_29(
    q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 2, T: int = 0
) -> Annotated[list[int], "[N] in {0, 1}"]:
    threshold = gauss(T, 2 / eps)
    for i in range(N):
        noisy = gauss(q[i], 4 / eps)
        if noisy >= threshold:
            return [0] * i + [1] + [0] * (N - i - 1)
    return [0] * N


@dipapprox.mechanism(adjacent="linf 1")
def noisy_30(
    q: Annotated[dipapprox.Quantity, "in 0..1"],
    eps: dipapprox.Weight,
    delta: Fraction = Fraction(1, 10**5),
) -> Annotated[dipapprox.Quantity, "in real"]:
    return dipapprox.gauss(q, dipapprox.sqrt(2 * dipapprox.log(Fraction(5, 4) / delta)) / eps)


@mechanism(adjacent="linf 1")
def svt_31(
    q: Annotated[list[Quantity], "[N] in {0, 1}"],  # the exact answers, private
    eps: Weight,
    N: int = 3,  # -p N=5 on the command line overrides it
    T: int = 0,
) -> Annotated[list[int], "[N] in {0, 1}"]:  # what is published
    """Sparse vector with Laplace noise.

    claim: DP at eps = 1, delta = 0
    claim: Not_DP at eps = 1, eps_prv = 1/2, delta = 0
    """
    threshold = laplace(T, 2 / eps)
    for i in range(N):
        if laplace(q[i], 4 / eps) >= threshold:
            return [0] * i + [1] + [0] * (N - i - 1)
    return [0] * N


@dipapprox.mechanism(adjacent="linf 1")
def snapped_32(
    q: Annotated[dipapprox.Quantity, "in -3..3"], eps: dipapprox.Weight
) -> Annotated[tuple[object, ...], "a in -2..2", "b in 0..3", "c in 0..1"]:
    r = dipapprox.laplace(q, 1 / eps)
    z = dipapprox.discrete_laplace(q, 1 / eps)
    held = dipapprox.clamp(r, 0, 1)
    near = dipapprox.clamp(abs(z), 0, 3)
    c = dipapprox.where(held > Fraction(1, 3), 1, 0)
    return dipapprox.rounded(r / 2, -2, 2, 2), near, c


@dipapprox.mechanism(adjacent="l0 1 where q'[i] >= q[i] for i in 1..N")
def risen_33(
    q: Annotated[list[dipapprox.Quantity], "[N] in 0..2"], eps: dipapprox.Weight, N: int = 2
) -> Annotated[bool, "in bool"]:
    return dipapprox.laplace(sum(q), 2 / eps) > 1


@mechanism(adjacent="linf 1")
def noisy_34(q: Annotated[Quantity, "in {0, 1}"], eps: Weight) -> Annotated[Condition, "in bool"]:
    """Is it more?

    claim: DP at eps = 1, delta = 0
    """
    return laplace(q, SCALE / eps) > 0
