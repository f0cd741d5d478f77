"""Claims at every ε of an interval, by enclosures.

In: a program, a claim with formulas in ε, an interval. Out: a verdict about all of it. Read
`verifier` first, then `search`, `tables` and `published`.
"""
