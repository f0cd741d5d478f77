"""The least budget of programs with any number of rounds.

In: a program with rounds. Out: bounds of its least budget, in the program's words. Read
`prove_rounds` first.
"""
