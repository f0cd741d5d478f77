"""Programs executed with symbols: final states.

In: a core program, ε and inputs left open. Out: final states: outputs, conditions on inputs, guards
on samples; of all states disjoint, of total probability 1. Read `execution` first, then
`run`, `state` and `statements`. What executes raises `LimitReached` where limits end.
"""
