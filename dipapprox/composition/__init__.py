"""What many runs cost together, certified from both sides.

In: mechanisms of a catalogue or pairs of distributions, how often each is run, and on which sample
of the data. Out: enclosures of the least ε for a δ and of the least δ for an ε. Read `accountant`
first, then `mechanisms`, `profile` and `losses`.
"""
