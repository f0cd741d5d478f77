"""The least budget for all real inputs and every ε, and for automata of every length.

In: a program with real inputs, an automaton, a service. Out: bounds of its least budget from both
sides, with the evidence. Read `prove_real` first, then `cones` and `worst_change` for both
bounds; `budget_answer` is what all answers are.

Of what no theorem here speaks, `NotReal` says why; a text or file that is wrong is a `UserError`.
Ends that have nothing in common raise `Contradiction`.
"""
