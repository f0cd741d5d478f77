"""Programs with rounds without end as automata.

In: a program with streams, or a loop up to any N. Out: the automaton that it is, and what is lost
on the way. Read `paths` first, then `exploration` and `compiled`.
"""
