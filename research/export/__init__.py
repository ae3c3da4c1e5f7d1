"""What leaves the house: a report as a file. Reads records and evidence, changes neither."""
