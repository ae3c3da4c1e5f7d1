"""Export of reports as files. Reads records and evidence, changes neither."""
