"""The parts that judge or find, measured on labelled sets that others made."""
