"""Pairs of inputs of programs that publish numbers.

In: measures of what two inputs publish. Out: divergences of classes of pairs that look alike, and
pure budgets by couplings. Read `divergences` first, then `together` and `couplings`.
"""
