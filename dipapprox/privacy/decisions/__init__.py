"""One claim at every ε of an interval, decided exactly.

In: a program of the decidable class, a budget, δ as a function of ε. Out: a decision with the
ranges of ε that violate it. Read `decider` first, then `search` and `decision`.
"""
