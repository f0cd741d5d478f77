"""The engine for events that are easy once a few samples have values.

In: events. Out: enclosures, by quadrature over the values of those samples. Read `engine` first,
then `separators`.
"""
