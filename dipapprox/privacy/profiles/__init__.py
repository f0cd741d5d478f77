"""The tightest guarantees: the least δ, the least ε_prv, whole curves, Rényi divergences.

In: a program at one ε, a question. Out: certified numbers, curves and pictures of where pairs lie.
Read `profile` first, then `curve` and `renyi`.
"""
