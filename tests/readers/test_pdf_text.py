"""Text of PDF files in the order of reading: columns, tables, running heads, page ends, hyphens, Chinese."""

from __future__ import annotations

import itertools

import pytest

from research.readers.documents import Document, parse_document
from tests.readers.pdf_files import column, make_pdf, show

LEFT = [
    "The Lantern Bridge was built in", "1871 by Amos Field. It spans", "the river Tarn at Upper Millbrook",
    "and carries foot traffic only. Repairs", "were made after the flood of", "1903 and the deck was replaced", "with oak.",
]  # fmt: skip
RIGHT = [
    "The Copper Tower was finished in", "1924 by Ida Rowe. It is", "forty metres high and served as",
    "a water reservoir for the town", "until 1968. Since 1985 it has", "housed a museum of local weaving", "and pottery.",
]  # fmt: skip
LEFT_TEXT, RIGHT_TEXT = " ".join(LEFT), " ".join(RIGHT)
ROWS = [
    ("Station", "Opened", "Platforms", "Passengers 2022"), ("Ashford North", "1891", "4", "1,204,331"),
    ("Birch Lane", "1910", "2", "87,450"), ("Castle Quay", "1966", "6", "3,010,002"),
]  # fmt: skip
TABLE = [
    "Station: Ashford North; Opened: 1891; Platforms: 4; Passengers 2022: 1,204,331",
    "Station: Birch Lane; Opened: 1910; Platforms: 2; Passengers 2022: 87,450",
    "Station: Castle Quay; Opened: 1966; Platforms: 6; Passengers 2022: 3,010,002",
]
CHINESE = ["松涛书院始建于南宋绍兴十二年，由陆九思主持修建。", "书院门票为每人三十五元，周一闭馆。"]


def read(*pages: bytes, rotation: int = 0) -> Document:
    return parse_document("a.pdf", make_pdf(*pages, rotation=rotation))


def lines(*pages: bytes) -> list[str]:
    return read(*pages).text.split("\n")


def located(document: Document) -> list[tuple[str, int | None, int | None]]:
    """The text of each section with its first and last page."""
    return [(document.text[s.start : s.end], s.page, s.last_page) for s in document.sections]


# Columns


def test_two_columns_drawn_row_by_row_are_read_one_after_the_other() -> None:
    pairs = zip(column(60, 100, LEFT), column(320, 100, RIGHT), strict=True)
    assert lines(show(itertools.chain.from_iterable(pairs))) == [LEFT_TEXT, RIGHT_TEXT]


def test_two_columns_drawn_one_after_the_other_stay_so() -> None:
    assert lines(
        show(column(60, 100, LEFT)),
    ) == [LEFT_TEXT]
    assert lines(show([*column(60, 100, LEFT), *column(320, 106, RIGHT)])) == [LEFT_TEXT, RIGHT_TEXT]


def test_the_right_column_is_read_last_even_if_it_is_drawn_first() -> None:
    assert lines(show([*column(320, 100, RIGHT), *column(60, 100, LEFT)])) == [LEFT_TEXT, RIGHT_TEXT]


def test_a_heading_across_columns_comes_before_both_and_one_below_after_both() -> None:
    heads = show([(60, 60, "Bridges and towers of the county")], 20) + show([(60, 230, "Ferries")], 16)
    below = [*column(60, 260, RIGHT), *column(320, 260, LEFT)]
    page = heads + show([*column(60, 100, LEFT), *column(320, 100, RIGHT), *below])
    assert lines(page) == [
        "Bridges and towers of the county", LEFT_TEXT, RIGHT_TEXT, "Ferries", RIGHT_TEXT, LEFT_TEXT,
    ]  # fmt: skip


def test_three_columns_are_read_from_left_to_right() -> None:
    texts = [[*[f"{name} column has a line"] * 7, "and its end."] for name in ("First", "Middle", "Last")]
    drawn = [column(x, 100 + 3 * n, text) for n, (x, text) in enumerate(zip((50, 220, 390), texts, strict=True))]
    rows = itertools.chain.from_iterable(zip(*drawn, strict=True))
    assert [line[:6] for line in lines(show(rows))] == ["First ", "Middle", "Last c"]


def test_a_sentence_goes_on_in_the_next_column() -> None:
    left = [*LEFT[:-1], "with oak from the forests"]
    right = ["of the upper valley in the spring.", *RIGHT]
    text = read(show([*column(60, 100, left), *column(320, 100, right)])).text
    assert "the deck was replaced with oak from the forests of the upper valley in the spring." in text


def test_wide_gaps_between_the_words_of_justified_lines_are_no_columns() -> None:
    words = ["seasonal", "railways", "northern", "harbours"]
    rows = [(60 + 110 * n, 100 + 14 * row, word) for row in range(6) for n, word in enumerate(words)]
    page = show(
        [*rows, *column(60, 184, ["and the whole line of the text goes on to the right end of the column here."])]
    )
    assert lines(page)[0].startswith("seasonal railways northern harbours seasonal")


# Tables


@pytest.mark.parametrize("by_column", [False, True])
def test_a_table_keeps_its_rows_and_headings_however_it_is_drawn(by_column: bool) -> None:
    cells = [
        (x, 100 + 16 * n, text) for n, row in enumerate(ROWS) for x, text in zip((60, 200, 280, 360), row, strict=True)
    ]
    assert lines(show(sorted(cells) if by_column else cells)) == TABLE


def test_a_table_between_paragraphs_takes_no_line_of_theirs() -> None:
    cells = [
        (x, 150 + 16 * n, text) for n, row in enumerate(ROWS) for x, text in zip((60, 200, 280, 360), row, strict=True)
    ]
    prose = ["The stations of the county were counted in the spring of the year by", "two clerks."]
    page = show([*column(60, 100, prose), *cells, *column(60, 240, ["The count goes on."])])
    assert lines(page) == [" ".join(prose), *TABLE, "The count goes on."]


def test_lines_of_one_cell_are_joined() -> None:
    cells = [
        *column(60, 100, ["Measure", "Dyke", "Harbour wall"], 40),
        *column(160, 100, ["Description"]), *column(160, 140, ["raises the northern dyke by a", "metre along the river"]),
        *column(160, 180, ["repairs the outer wall"]), *column(400, 100, ["Cost", "12", "340"], 40),
    ]  # fmt: skip
    assert lines(show(cells)) == [
        "Measure: Dyke; Description: raises the northern dyke by a metre along the river; Cost: 12",
        "Measure: Harbour wall; Description: repairs the outer wall; Cost: 340",
    ]


def test_a_table_goes_on_over_a_page_end_with_its_headings() -> None:
    first, second = ROWS[:3], ROWS[3:] * 3
    pages = [
        show(
            [
                (x, 100 + 16 * n, text)
                for n, row in enumerate(rows)
                for x, text in zip((60, 200, 280, 360), row, strict=True)
            ]
        )
        for rows in (first, second)
    ]
    assert lines(*pages) == [*TABLE, TABLE[2], TABLE[2]]


HEADS = [("乡镇", ""), ("常住人口", "（人）"), ("面积（平方公", "里）")]
BODY = [("青石", "镇"), ("86,420", ""), ("64.2", ""), ("大湾", "乡"), ("15,402", ""), ("171.9", "")]


def lines_at(xs: list[float], ys: list[float], *, upright: bool = True) -> bytes:
    """Operators that draw a horizontal line at each y, and a vertical one at each x, from the top left corner."""
    ruled = [(xs[0], y, xs[-1], y) for y in ys]
    strokes = ruled + [(x, ys[0], x, ys[-1]) for x in xs] * upright
    return b"".join(b"%g %g m %g %g l S\n" % (x0, 842 - y0, x1, 842 - y1) for x0, y0, x1, y1 in strokes)


def wrapped_cells(left: float = 60.0) -> bytes:
    """A table whose cells have one or two lines, in the middle of their rows."""
    drawn = []
    for index, (upper, lower) in enumerate(HEADS + BODY):
        x, y = left + 70 * (index % 3), 114 + 30 * (index // 3)
        drawn += [(x, y - 6, upper), (x, y + 6, lower)] if lower else [(x, y, upper)]
    return show(drawn, 9)


@pytest.mark.parametrize(
    "drawn",
    [
        lines_at([55, 125, 195, 265], [97, 127, 157, 187]),
        lines_at([55, 125, 195, 265], [97, 127, 157, 187], upright=False),
        b"",
    ],
)
def test_cells_of_several_lines_stay_whole_with_and_without_drawn_lines(drawn: bytes) -> None:
    assert lines(drawn + wrapped_cells()) == [
        "乡镇: 青石镇; 常住人口（人）: 86,420; 面积（平方公里）: 64.2",
        "乡镇: 大湾乡; 常住人口（人）: 15,402; 面积（平方公里）: 171.9",
    ]


def test_a_ruled_table_across_columns_is_read_between_them() -> None:
    cells = [
        (x, 115 + 16 * n, text) for n, row in enumerate(ROWS) for x, text in zip((70, 250, 330, 420), row, strict=True)
    ]
    drawn = lines_at([60, 530], [102, 119, 167], upright=False)
    page = drawn + show([*cells, *column(60, 200, LEFT), *column(320, 200, RIGHT)])
    assert lines(page) == [*TABLE, LEFT_TEXT, RIGHT_TEXT]


def test_a_ruled_table_in_a_column_stays_in_it() -> None:
    cells = [
        (x, 215 + 16 * n, text) for n, row in enumerate(ROWS) for x, text in zip((70, 150, 200), row, strict=False)
    ]
    drawn = lines_at([60, 250], [202, 219, 267], upright=False)
    page = drawn + show([*cells, *column(60, 100, LEFT), *column(320, 100, RIGHT), *column(320, 198, RIGHT)])
    assert lines(page)[0] == LEFT_TEXT
    assert lines(page)[1] == "Station: Ashford North; Opened: 1891; Platforms: 4"
    assert lines(page)[4:] == [RIGHT_TEXT, RIGHT_TEXT]


def test_cells_merged_over_rows_are_repeated_in_each() -> None:
    drawn = lines_at([60, 160, 260, 360], [100, 120, 160]) + b"160 702 m 360 702 l S\n"
    texts = [(65, 114, "Region"), (165, 114, "Port"), (265, 114, "Tonnes"), (65, 144, "North")]
    rows = [(165, 134, "Alfa"), (265, 134, "120"), (165, 154, "Bravo"), (265, 154, "88")]
    assert lines(drawn + show([*texts, *rows])) == [
        "Region: North; Port: Alfa; Tonnes: 120",
        "Region: North; Port: Bravo; Tonnes: 88",
    ]


def test_a_frame_around_text_is_no_table() -> None:
    page = lines_at([50, 300, 560], [90, 210]) + show([*column(60, 110, LEFT), *column(320, 110, RIGHT)])
    assert lines(page) == [LEFT_TEXT, RIGHT_TEXT]


def test_a_row_over_a_page_end_is_one_row_on_both_pages() -> None:
    xs = [60.0, 160.0, 360.0, 460.0]
    first = show([
        (65, 114, "Measure"), (165, 114, "Description"), (365, 114, "Cost"), (65, 134, "Dyke"),
        (165, 134, "raises the northern dyke by a"), (365, 134, "12"),
    ])  # fmt: skip
    second = show([
        (165, 74, "metre along the river"), (65, 94, "Wall"), (165, 94, "repairs the outer wall"), (365, 94, "340"),
    ])  # fmt: skip
    document = read(lines_at(xs, [100, 120, 140]) + first, lines_at(xs, [60, 80, 100]) + second)
    whole = "Measure: Dyke; Description: raises the northern dyke by a metre along the river; Cost: 12"
    assert (whole, 1, 2) in located(document)
    assert ("Measure: Wall; Description: repairs the outer wall; Cost: 340", 2, None) in located(document)


def test_a_list_is_no_table() -> None:
    page = show(
        [*column(60, 100, ["1.", "2.", "3."]), *column(85, 100, ["Open the gate.", "Close the gate.", "Go home."])]
    )
    assert lines(page) == ["1. Open the gate.", "2. Close the gate.", "3. Go home."]


def test_lines_of_labels_stay_apart() -> None:
    form = [(60, 100, "Invoice number: 2231"), (350, 100, "Date: 3 May 2021"), (60, 114, "Customer: Birch Lane Ltd")]
    assert lines(show(form)) == ["Invoice number: 2231 Date: 3 May 2021", "Customer: Birch Lane Ltd"]


# Running heads, page ends

PAGES = [
    ["Annual report of the Holm Society.", "The society restored the Marsh Windmill at a total cost of"],
    ["480,000 crowns, of which the county paid one third in 2017.", "The windmill reopened in May 2018."],
]


def running(number: int, texts: list[str], head: str = "Holm Society - Annual Report 2018") -> bytes:
    return show([(60, 40, head), (280, 802, f"Page {number} of 2")], 9) + show(column(60, 100, texts, 16), 11)


def test_running_heads_and_page_numbers_are_left_out_and_a_sentence_over_a_page_end_has_both_pages() -> None:
    document = read(*(running(n, texts) for n, texts in enumerate(PAGES, 1)))
    assert located(document) == [
        ("Annual report of the Holm Society.", 1, None),
        (
            "The society restored the Marsh Windmill at a total cost of 480,000 crowns, of which the county paid one "
            "third in 2017.",
            1,
            2,
        ),
        ("The windmill reopened in May 2018.", 2, None),
    ]


def test_a_first_line_that_differs_from_page_to_page_is_text() -> None:
    document = read(running(1, PAGES[0], "A letter of the north"), running(2, PAGES[1], "A letter of the south"))
    assert "A letter of the north" in document.text
    assert "A letter of the south" in document.text


def test_the_headings_of_a_table_on_every_page_are_no_running_head() -> None:
    rows = [[ROWS[0], ROWS[1], ROWS[2]], [ROWS[0], ROWS[3], ROWS[1]]]
    pages = [
        show(
            [
                (x, 60 + 16 * n, text)
                for n, row in enumerate(part)
                for x, text in zip((60, 200, 280, 360), row, strict=True)
            ]
        )
        for part in rows
    ]
    assert lines(*pages) == [TABLE[0], TABLE[1], TABLE[2], TABLE[0]]


def test_a_page_of_nothing_but_a_repeated_line_keeps_it() -> None:
    assert lines(show([(60, 40, "Approved.")]), show([(60, 40, "Approved.")])) == ["Approved.", "Approved."]


# Hyphens, Chinese, turned pages


def test_hyphens_of_the_layout_are_removed_and_those_of_compounds_kept() -> None:
    page = show(
        column(60, 100, [
            "The committee approved the envi-", "ronmental budget of 42 million euros in June 2019.",
            "The plan covers the price-", "determining factors for the district heat-", "ing network near Harrow Lane.",
        ], 16), 11,
    )  # fmt: skip
    assert lines(page) == [
        "The committee approved the environmental budget of 42 million euros in June 2019. The plan covers the "
        "price-determining factors for the district heating network near Harrow Lane."
    ]


def test_the_document_itself_decides_on_a_hyphen() -> None:
    texts = [
        "The farmland of the estate and its wood-pulp were sold with the farm-",
        "land beside it and more of the wood-",
        "pulp.",
    ]
    assert lines(show(column(60, 100, texts))) == [
        "The farmland of the estate and its wood-pulp were sold with the farmland beside it and more of the wood-pulp."
    ]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("dry-", "powder", "dry-powder"), ("photo-", "graph", "photograph"), ("ex-", "penditure", "expenditure"),
        ("ex-", "minister", "ex-minister"), ("semi-", "conductor", "semiconductor"), ("snow-", "covered", "snow-covered"),
    ],
)  # fmt: skip
def test_common_words_decide_on_a_hyphen(first: str, second: str, whole: str) -> None:
    assert lines(show(column(60, 100, [f"The clerk wrote of the {first}", f"{second} of the town."]))) == [
        f"The clerk wrote of the {whole} of the town."
    ]


def test_radicals_are_read_as_the_characters_they_stand_for() -> None:
    assert lines(show([(60, 100, "⻔票⾦额⻅下表。")])) == ["门票金额见下表。"]


@pytest.mark.parametrize("step", [12, 13, 17])
def test_chinese_characters_drawn_apart_are_joined(step: int) -> None:
    drawn = [(60 + step * n, 100 + 24 * row, char) for row, text in enumerate(CHINESE) for n, char in enumerate(text)]
    assert lines(show(drawn, 12)) == ["".join(CHINESE)]


def test_chinese_text_set_apart_in_one_operator_is_joined() -> None:
    shown = b"".join(
        b"BT /F2 12 Tf 1 0 0 1 60 %d Tm [%b] TJ ET\n"
        % (740 - 24 * n, b" -420 ".join(b"<" + char.encode("utf-16-be").hex().encode() + b">" for char in text))
        for n, text in enumerate(CHINESE)
    )
    assert lines(shown) == ["".join(CHINESE)]


def test_kerning_splits_no_word() -> None:
    kerned = (
        b"BT /F1 11 Tf 1 0 0 1 60 740 Tm [(P)-180(ost)-20(operative care lasts 14)-190( days in W)80(ard 9.)] TJ ET"
    )
    assert lines(kerned) == ["Postoperative care lasts 14 days in Ward 9."]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_turned_pages_are_read(rotation: int) -> None:
    page = show([*column(60, 100, LEFT), *column(320, 100, RIGHT)])
    assert read(page, rotation=rotation).text.split("\n") == [LEFT_TEXT, RIGHT_TEXT]


def test_text_at_a_right_angle_to_the_rest_is_read_after_it() -> None:
    side = b"BT /F1 10 Tf 0 1 -1 0 30 300 Tm (Draft of 3 May) Tj ET\n"
    assert lines(side + show(column(60, 100, LEFT))) == [LEFT_TEXT, "Draft of 3 May"]
