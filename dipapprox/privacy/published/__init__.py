"""What answers need of programs that publish numbers.

In: pairs of measures. Out: guarantees, witnesses, masses and densities. Read `guarantees` first,
then `details`.
"""
