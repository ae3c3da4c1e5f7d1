"""Pages of files as pictures: quotes are marked line by line where they stand, and what failed is said."""

from __future__ import annotations

import io
import random
import zlib

import pypdf
import pytest
import typst
from PIL import Image

from research.core.page_views import MarkBox, PageImage, PageText
from research.export.fonts import load_fonts
from research.readers.page_images import MAX_WIDTH_PIXELS, PageRenderError, render_page
from research.readers.quote_positions import CharacterBox, find_quote, fold_text, join_lines
from tests.scans import pdf
from tests.tables import each_row

RANDOM = random.Random(7)
NAMES = (
    "harbour", "glacier", "copper", "violin", "pepper", "saddle", "lantern", "barley", "cobalt", "willow", "anchor",
    "efficient", "official", "sufficient", "confirmed", "fleet", "international", "regulation", "shipping", "of the",
)  # fmt: skip
PLACES = (
    "北京",
    "上海",
    "广州",
    "成都",
    "武汉",
    "西安",
    "南京",
    "杭州",
    "沈阳",
    "昆明",
    "兰州",
    "收入",
    "𠮷野家",
    "高于",
)
ENGLISH = [f"In {1900 + n}, {' '.join(RANDOM.choices(NAMES, k=22))}." for n in range(60)]
CHINESE = [f"{1900 + n}年，{''.join(RANDOM.choices(PLACES, k=21))}。" for n in range(60)]


def typeset(body: str) -> bytes:
    """A PDF made by Typst, with justified and hyphenated lines."""
    head = "#set page(width: 300pt, height: 400pt, margin: 30pt)\n#set text(size: 9pt)\n#set par(justify: true)\n"
    return typst.Compiler((head + body).encode(), font_paths=load_fonts()).compile(format="pdf")


@pytest.fixture(scope="module")
def english() -> bytes:
    """Two columns on several pages."""
    return typeset('#set page(columns: 2)\n#set text(lang: "en", hyphenate: true)\n' + " ".join(ENGLISH))


@pytest.fixture(scope="module")
def chinese() -> bytes:
    return typeset('#set text(lang: "zh", font: "Noto Sans CJK SC")\n' + "".join(CHINESE))


def marked_text(data: bytes, page: int, boxes: tuple[MarkBox, ...], width: int) -> str:
    """The characters of a PDF page whose middle is in a box, as PDFium has them, folded."""
    import pypdfium2

    drawn = pypdfium2.PdfDocument(data)[page - 1]
    scale = width / drawn.get_width()
    text_page = drawn.get_textpage()
    characters = []
    for index in range(text_page.count_chars()):
        left, bottom, right, top = text_page.get_charbox(index)
        x, y = (left + right) / 2 * scale, (drawn.get_height() - (bottom + top) / 2) * scale
        if any(0 <= x - box.left <= box.width and 0 <= y - box.top <= box.height for box in boxes):
            characters.append(text_page.get_text_range(index, 1))
    return fold_text("".join(characters)).text


def letters(text: str) -> str:
    return fold_text(text).text


def picture(page: PageImage) -> Image.Image:
    drawn = Image.open(io.BytesIO(page.data))
    assert (drawn.format, drawn.size) == ("WEBP", (page.width, page.height))
    return drawn.convert("RGB")


def colours(page: PageImage, area: tuple[int, int, int, int]) -> list[tuple[int, int, int]]:
    drawn = picture(page)
    return [drawn.getpixel((x, y)) for x in range(area[0], area[2]) for y in range(area[1], area[3])]


def fault(data: bytes, name: str = "a.pdf", page: int = 1) -> str:
    with pytest.raises(PageRenderError) as caught:
        render_page(data, name, page, [])
    return caught.value.fault


# Where quotes are


def test_a_quote_over_lines_and_columns_is_marked_line_by_line(english: bytes) -> None:
    for sentence in ENGLISH[:8]:
        page = render_page(english, "a.pdf", 1, [sentence], width_px=900)
        assert page.found == ("whole",)
        assert marked_text(english, 1, page.boxes, 900) == letters(sentence)
        assert all(box.left >= 0 and box.left + box.width <= page.width for box in page.boxes)
        assert len(page.boxes) >= 4
        assert max(box.height for box in page.boxes) < 40  # one line each
    columns = [
        {box.left > 450 for box in render_page(english, "a.pdf", 1, [one], width_px=900).boxes} for one in ENGLISH[:8]
    ]
    assert {True, False} in columns  # one of them begins in one column and ends in the next


def test_chinese_is_found_whatever_white_space_it_was_stored_with(chinese: bytes) -> None:
    sentence = CHINESE[6]
    for quote in (sentence, " ".join(sentence), sentence.replace("，", "，\n")):
        page = render_page(chinese, "数据.pdf", 1, [quote], width_px=900)
        assert page.found == ("whole",)
        assert marked_text(chinese, 1, page.boxes, 900).replace("\ufffd", "") in (
            letters(sentence), letters(sentence.replace("𠮷", "")),
        )  # fmt: skip


def test_a_quote_that_runs_over_the_end_of_a_page_is_marked_on_both(english: bytes, chinese: bytes) -> None:
    for data, sentences in ((english, ENGLISH), (chinese, CHINESE)):
        found = [render_page(data, "a.pdf", 1, [sentence]).found[0] for sentence in sentences]
        (at,) = [n for n, match in enumerate(found) if match == "part"]
        assert found == ["whole"] * at + ["part"] + ["none"] * (len(found) - at - 1)
        first, second = (render_page(data, "a.pdf", number, [sentences[at]], width_px=900) for number in (1, 2))
        assert second.found == ("part",)
        words = [marked_text(data, number, page.boxes, 900) for number, page in ((1, first), (2, second))]
        assert "".join(words) == letters(sentences[at])


def test_a_footer_within_a_quote_is_left_out() -> None:
    page = fold_text("The tower was built in 1874 and\nPage 7 of 90\nrestored after the great flood.")
    match, at = find_quote("The tower was built in 1874 and restored after the great flood.", page)
    assert match == "whole"
    assert 40 not in at


@each_row(
    "quote page match marked",
    [
        ("efficient", "e\ufb03cient", "whole", "e\ufb03cient"),
        ("information", "infor\u0002\r\nmation", "whole", "infor\u0002\r\nmation"),
        ("人口", "⼈⼝", "whole", "⼈⼝"),
        ("门见", "⻔⻅", "whole", "⻔⻅"),
        ("Port: Alfa; Year: 1891; Tonnes: 4,120", "Port Year Tonnes\r\nAlfa 1891 4,120", "whole", "Alfa 1891 4,120"),
        ("Region: North; Port: Alfa; Tonnes: 4,120", "Port Tonnes Alfa 4,120", "part", "Alfa 4,120"),
        ("Port: Alfa; Tonnes: 4", "Port Tonnes Bravo 4", "none", ""),
        ("𠮷野家", "\ud842\udfb7野家", "whole", "\ud842\udfb7野家"),
        ("Zürich", "Zu\u0308rich", "whole", "Zu\u0308rich"),
        ("· One\n· Two", "• One\r\n• Two", "whole", "One\r\n• Two"),
        ("3,5 %", "3,5\u00a0%", "whole", "3,5\u00a0%"),
        ("not on it at all", "Another page with other words", "none", ""),
        ("The tower was never built at all, said the mayor", "On the page stands: the tower was white", "none", ""),
        ("—", "a — b", "none", ""),
        ("anything", "", "no characters", ""),
    ],
)
def test_quotes_are_compared_without_what_cleaning_changes(quote: str, page: str, match: str, marked: str) -> None:
    found, at = find_quote(quote, fold_text(page))
    assert found == match
    assert (page[min(at) : max(at) + 1] if at else "") in (marked, marked[:-1], marked[:3] + marked[-2:])


def test_of_a_repeated_quote_the_one_in_its_context_is_marked() -> None:
    page = fold_text("Rome: 40 euros. Paris: 40 euros.")
    assert find_quote("40 euros", page)[1][0] == 6
    assert find_quote("40 euros", page, "Paris: 40 euros.")[1][0] == 23


def test_lines_are_joined_horizontally_and_vertically() -> None:
    row = [CharacterBox(x, 0, x + 9, 12) for x in (0, 10, 20)]
    assert join_lines([*row, *(CharacterBox(x, 14, x + 9, 26) for x in (0, 10))]) == [(0, 0, 29, 12), (0, 14, 19, 26)]
    assert join_lines(reversed(row)) == [(0, 0, 29, 12)]  # written from right to left
    assert join_lines([*row, CharacterBox(200, 0, 209, 12)]) == [(0, 0, 29, 12), (200, 0, 209, 12)]
    assert join_lines([CharacterBox(50, y, 60, y + 10) for y in (0, 11, 22)]) == [(50, 0, 60, 32)]


def test_marks_are_where_the_words_are_on_turned_and_cropped_pages() -> None:
    for turn in (0, 90, 180, 270):  # the text is turned the other way, so that it is upright when shown
        body = f"#rotate({-turn}deg, reflow: true, box(width: 230pt)[{' '.join(ENGLISH[:6])}])"
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(typeset(f"#set text(hyphenate: false)\n{body}")))
        page = writer.pages[0]
        page.cropbox.lower_left, page.cropbox.upper_right = (20, 20), (290, 390)
        page.rotate(turn)
        out = io.BytesIO()
        writer.write(out)
        shown = render_page(out.getvalue(), "a.pdf", 1, [ENGLISH[1]], width_px=900)
        assert shown.found == ("whole",)
        drawn = picture(shown).convert("L").point(lambda value: 255 * (value < 128))
        for box in shown.boxes:
            assert box.height < 60
            assert drawn.crop((box.left, box.top, box.left + box.width, box.top + box.height)).getbbox() is not None


def test_words_beyond_the_edge_of_the_page_are_not_found(english: bytes) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(english))
    writer.pages[0].cropbox.upper_right = (300, 60)
    out = io.BytesIO()
    writer.write(out)
    page = render_page(out.getvalue(), "a.pdf", 1, [ENGLISH[0]])
    assert (page.found, page.boxes) == (("none",), ())


# Pictures


def test_marks_are_painted_only_where_asked_and_leave_the_letters(english: bytes) -> None:
    plain, painted = (
        render_page(english, "a.pdf", 1, [ENGLISH[1], "never on the page"], paint_marks=paint)
        for paint in (False, True)
    )
    assert plain.boxes == painted.boxes
    assert plain.found == painted.found == ("whole", "none")
    assert (plain.match, plain.is_marked, painted.is_marked) == ("part", False, True)
    assert {box.quote for box in plain.boxes} == {0}
    box = plain.boxes[0]
    area = (box.left, box.top, box.left + box.width, box.top + box.height)
    assert max(blue for _, _, blue in colours(plain, area)) == 255
    assert max(blue for _, _, blue in colours(painted, area)) < 200
    assert min(red for red, _, _ in colours(painted, area)) < 60


def test_a_page_has_the_asked_width_within_limits(english: bytes) -> None:
    assert render_page(english, "a.pdf", 1, [], width_px=500).width in (500, 501)
    assert render_page(english, "a.pdf", 1, [], width_px=99_999).width <= MAX_WIDTH_PIXELS + 1
    assert render_page(english, "a.pdf", 1, []).found == ()


def test_pictures_and_scans_are_shown_without_marks() -> None:
    out = io.BytesIO()
    Image.new("RGB", (3000, 1500), "navy").save(out, "JPEG")
    page = render_page(out.getvalue(), "photo.JPG", 1, ["words"], width_px=800, paint_marks=True)
    assert (page.width, page.height, page.boxes, page.found) == (800, 400, (), ("no characters",))
    scan = render_page(pdf([Image.new("L", (60, 80), 200)]), "scan.pdf", 1, ["words"])
    assert (scan.boxes, scan.found) == ((), ("no characters",))
    frames = io.BytesIO()
    Image.new("L", (40, 50)).save(frames, "TIFF", save_all=True, append_images=[Image.new("L", (70, 50))])
    assert render_page(frames.getvalue(), "a.tiff", 2, []).width == 70


def test_a_page_that_cannot_be_drawn_has_a_message(english: bytes) -> None:
    assert fault(english, page=99) == "no page"
    assert fault(b"%PDF-1.7 nothing") == "damaged"
    assert fault(b"nothing", "a.png") == "damaged"
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(english))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    assert fault(out.getvalue()) == "encrypted"
    huge = io.BytesIO()
    Image.new("1", (1, 1)).save(huge, "PNG")
    data = bytearray(huge.getvalue())
    data[16:24] = (20_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    assert fault(bytes(data), "a.png") == "pixels"
    with pytest.raises(ValueError, match="cannot be drawn"):
        render_page(b"text", "a.txt", 1, [])


def test_the_text_of_a_page_is_parted_at_its_marks() -> None:
    assert [*PageText(1, "abcdef", ((1, 3),)).parts] == [("a", False), ("bc", True), ("def", False)]
