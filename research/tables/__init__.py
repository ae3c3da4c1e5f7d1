"""Tables: the value that a sentence gives for a column, and the values of a column beside each other.

Knows records and the reader of figures; nothing of how a table is asked for, run or drawn.
"""
