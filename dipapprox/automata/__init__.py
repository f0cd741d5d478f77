"""DiP automata: whether one has a budget for every ε, which is least, or why there is none.

In: the text of an automaton (`language.dipa`), or a program with rounds that is one. Out: a model,
bounds of its least budget from both sides with what proves them, or a bad structure. Read `model`
first, then `analysis`, which asks all others; `runs` says what one run costs, `words` what it
must lose.
"""
