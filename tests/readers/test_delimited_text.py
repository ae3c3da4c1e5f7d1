"""Two detectors of encoding, delimiter and headings stand behind one interface, until one is enough."""

from __future__ import annotations

import csv
import io

import pytest

from research.readers.delimited_text import DATABASE_TABLES, LIBRARY_TABLES, TableTextDetector

PLAIN = "city;sights\n杭州;3\n苏州;2\n"
detectors = pytest.mark.parametrize("detector", [LIBRARY_TABLES, DATABASE_TABLES])


@detectors
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16"])
def test_both_detectors_find_the_same_in_a_plain_file(detector: TableTextDetector, encoding: str) -> None:
    data = (PLAIN * 20).encode(encoding)
    text = data.decode(detector.find_encoding(io.BytesIO(data), "sights.csv"))
    delimiter = detector.find_delimiter(text, ".csv")
    assert (text, delimiter) == (PLAIN * 20, ";")
    assert detector.find_header(csv.reader(io.StringIO(PLAIN), delimiter=delimiter)) == 1


@detectors
def test_a_table_without_rows_has_no_headings(detector: TableTextDetector) -> None:
    assert detector.find_header([["", ""]]) == 0


def test_only_the_database_doubts_that_a_row_of_numbers_is_a_heading() -> None:
    rows = [["2023", "2024"], ["1", "2"]]
    assert (LIBRARY_TABLES.find_header(rows), DATABASE_TABLES.find_header(rows)) == (1, 0)
