"""Whether the passages that a claim cites say what it says: exact where that is possible, else a score.

Knows texts alone: one claim, some passages, no answers and no sources. Quotes and figures are compared
exactly (`quotes`, `figures`); the rest is a logistic regression over a handful of features that know no
topic (`features`), fitted by `tests/yardsticks/fit.py` on labels that others made.
"""
