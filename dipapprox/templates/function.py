"""A mechanism as a Python function: the index of the first query above a noisy threshold.

Change it as you would any function: loops, lists, helper functions and early return are understood.
Then ask

    dipapprox test FILE.py                                         do the claims below hold?
    dipapprox verify FILE.py:svt --eps 1 --delta 1e-5              does it hold?
    dipapprox show FILE.py:svt                                     as a program of the language
"""

from typing import Annotated

from dipapprox import Quantity, Weight, laplace, mechanism


@mechanism(adjacent="linf 1")
def svt(
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
