"""The three seams inside the pipeline, each in a form that no redesign changes.

    outcomes.py       program, ε, input       ->  outcomes: outputs, weight, laws, guards
    events.py         laws, guards            ->  an enclosure of the probability
    divergences.py    two measures, ε_prv     ->  an enclosure of δ

An event is plain data: laws of independent samples x0, x1, … and guards, each the coefficients of
the samples and a constant: the event is that every form is at most 0.

    {"laws": ["Lap 0 4", "Lap 1 8"], "guards": ["1 -1 0"]}          x0 - x1 + 0 <= 0

A law is a word of the language, the mean, the scale. Guards of integer samples have their constants
half-way between two values of the form. Each of the three modules has a function `adapted` that
alone imports what is inside the package: who moves it there mends it here, and no data.
"""
