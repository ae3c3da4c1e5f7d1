"""Text of both languages read into values: numbers, units, dates and times.

Every part of the program that has to understand a figure or a date asks here, so that one spelling
means one thing everywhere.
"""
