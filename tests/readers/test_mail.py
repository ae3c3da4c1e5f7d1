"""Mails are read with their headers, their body in the right characters, and their attachments."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from email.message import EmailMessage

import pytest

from research.readers.documents import read_document
from research.readers.outlook import decompress_rtf
from tests.readers.compound_files import attached_message_tree, compound_file, file_tree, message_tree
from tests.readers.reading import outline, read_sample, refusal
from tests.tables import each_row


def mail(text: str = "The ticket costs 40 yuan.", **headers: str) -> EmailMessage:
    message = EmailMessage()
    stated = {"From": "李伟 <li@example.org>", "To": "Ann <ann@example.org>", "Subject": "门票 Tickets"} | headers
    for name, value in stated.items():
        message[name] = value
    message.set_content(text)
    return message


def test_the_headers_come_first_and_the_subject_is_the_title() -> None:
    document = read_document("a.eml", bytes(mail(Date="Tue, 03 Mar 2026 23:30:00 -0800", Cc="Bob <bob@example.org>")))
    assert (document.title, document.published) == ("门票 Tickets", date(2026, 3, 3))
    assert document.text == (
        "From: 李伟 <li@example.org>\nTo: Ann <ann@example.org>\nCc: Bob <bob@example.org>\n"
        "Date: Tue, 03 Mar 2026 23:30:00 -0800\nSubject: 门票 Tickets\nThe ticket costs 40 yuan."
    )


def test_quoted_replies_are_sections_of_their_own_authors() -> None:
    text = (
        "It costs 40 yuan.\n\nOn Mon, 2 Mar 2026, Ann wrote:\n> What does the ticket cost,\n> and who sells it?\n>\n> Ann\n"
        ">> 张三写道：\n>> 请问票价。\n\nBest\n"
    )
    sections = outline(read_document("a.eml", bytes(mail(text))))
    assert [(heading, body) for heading, _, body in sections[1:]] == [
        ("On Mon, 2 Mar 2026, Ann wrote:", "What does the ticket cost, and who sells it?\nAnn"),
        (">>", "张三写道：\n请问票价。"),
        ("", "Best"),
    ]


def test_the_html_body_is_read_where_there_is_no_plain_one_or_only_a_remark() -> None:
    html = (
        "<html><body><table><tr><td><h2>Prices</h2><p>10<sup>6</sup> visitors.</p><table><tr><th>Year</th><th>Fee</th></tr>"
        "<tr><td>2024</td><td>40</td></tr></table></td></tr></table><p>Ann wrote:</p><blockquote>Earlier<blockquote>mail.</blockquote></blockquote>Best</body></html>"
    )
    message = mail("View in HTML.")
    message.add_alternative(html, subtype="html")
    alone = mail()
    alone.set_content(html, subtype="html")
    for given in (message, alone):
        assert outline(read_document("a.eml", bytes(given)))[1:] == [
            ("Prices", None, "10⁶ visitors.\nYear: 2024; Fee: 40\nAnn wrote:"),
            ("Ann wrote:", None, "Earlier\nmail."),
            ("", None, "Best"),
        ]


@each_row(
    ("charset", "codec"),
    [("gb2312", "gb18030"), ("", "gb18030"), ("utf-8", "utf-8"), ("x-unknown", "gb18030"), ("big5", "big5")],
)
def test_the_body_is_in_its_charset_or_in_the_one_that_is_detected(charset: str, codec: str) -> None:
    stated = f"Content-Type: text/plain; charset={charset}\r\n" if charset else ""
    text = "門票四十元，學生二十元。" if codec == "big5" else "镕基说门票四十元，学生二十元。"
    head = f"From: w@example.org\r\nSubject: =?gb2312?B?w8XGsQ==?=\r\n{stated}Content-Transfer-Encoding: 8bit\r\n\r\n"
    document = read_document("a.eml", head.encode() + text.encode(codec))
    assert document.text.endswith(text)
    assert document.title == "门票"


def test_a_header_in_bytes_without_a_charset_is_detected() -> None:
    data = "From: 王 <w@example.org>\r\nSubject: 西湖门票的价格\r\n\r\nx\r\n".encode("gb18030")
    assert read_document("a.eml", data).title == "西湖门票的价格"


def test_attachments_are_named_and_given_with_their_content() -> None:
    message = mail()
    message.add_attachment("a,b\n1,2\n", filename="费用.csv")
    message.add_attachment(b"MZ", maintype="application", subtype="octet-stream", filename="run.exe")
    inner = mail("Inner text.", Subject="Inner")
    message.add_attachment(inner)
    document = read_document("a.eml", bytes(message))
    assert "\nAttachments: 费用.csv; run.exe; Inner.eml\n" in document.text
    assert "Inner text" not in document.text
    files = {file.name: file.data for file in document.attachments}
    assert files["费用.csv"].split() == [b"a,b", b"1,2"]
    assert files["run.exe"] == b""
    assert read_document("i.eml", files["Inner.eml"]).text.endswith("Inner text.")


def test_a_picture_within_the_text_is_no_attachment() -> None:
    message = mail()
    message.set_content('<p>Hello.</p><img src="cid:logo">', subtype="html")
    message.add_related(b"x", maintype="image", subtype="png", cid="<logo>", disposition="inline", filename="logo.png")
    message.add_attachment(b"y", maintype="image", subtype="png", filename="photo.png")
    assert [file.name for file in read_document("a.eml", bytes(message)).attachments] == ["photo.png"]
    logo = file_tree("logo.png", b"x")
    logo["__properties_version1.0"] += struct.pack("<HHIQ", 0x0B, 0x7FFE, 6, 1)
    tree = message_tree({0x0037: "s", 0x1000: "x"}, (logo, file_tree("photo.png", b"y")))
    assert [file.name for file in read_document("a.msg", compound_file(tree)).attachments] == ["photo.png"]


def test_further_parts_of_the_body_are_read_after_it() -> None:
    message = mail("Hello.")
    message.make_mixed()
    footer = EmailMessage()
    footer.set_content("Sent to the list.")
    message.attach(footer)
    assert read_document("a.eml", bytes(message)).text.endswith("Hello.\nSent to the list.")


def test_encrypted_mails_and_other_files_are_refused_by_name() -> None:
    data = b"From: a@example.org\r\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\r\n\r\nMIAG"
    assert refusal("a.eml", data).problem == "encrypted"
    assert "no mail" in refusal("a.eml", b"Only a note.").detail
    assert refusal("a.msg", b"From: a@example.org\r\n\r\nx").problem == "mislabelled"


def test_too_many_attachments_are_refused_with_the_number() -> None:
    message = mail()
    for n in range(101):
        message.add_attachment(b"x", maintype="text", subtype="plain", filename=f"{n}.txt")
    error = refusal("a.eml", bytes(message))
    assert (error.limit, "100" in error.detail) == ("attachments", True)


# Outlook


def test_a_message_saved_by_another_program_is_read() -> None:
    document = read_sample("outlook.msg")
    assert document.title == "This is the subject"
    assert document.text == (
        'From: "peterpan@neverland.com" <peterpan@neverland.com>\nTo: crocodile@neverland.com\n'
        "Subject: This is the subject\nThis is a message"
    )


def test_an_outlook_message_has_headers_body_and_attachments_of_both_kinds() -> None:
    inner = message_tree({0x0037: "Inner 内", 0x1000: "The inner mail."}, header_bytes=24)
    texts = {0x0037: "西湖门票", 0x0C1A: "李伟", 0x5D01: "li@example.org", 0x0E04: "Ann", 0x1000: "门票四十元。\r\n"}
    attachments = (file_tree("费用.csv", b"a,b\n1,2\n" * 900), attached_message_tree(inner))
    data = compound_file(message_tree(texts, attachments, datetime(2026, 3, 3, 8, tzinfo=UTC)))
    document = read_document("a.msg", data)
    assert document.published == date(2026, 3, 3)
    assert document.text == (
        "From: 李伟 <li@example.org>\nTo: Ann\nDate: Tue, 03 Mar 2026 08:00:00 +0000\nSubject: 西湖门票\n"
        "Attachments: 费用.csv; Inner 内.eml\n门票四十元。"
    )
    table, mail_file = document.attachments
    assert table.data == b"a,b\n1,2\n" * 900
    assert read_document("i.eml", mail_file.data).text == "Subject: Inner 内\nThe inner mail."
    assert read_document("a.msg", data).attachments == document.attachments


def test_an_outlook_message_without_another_body_is_read_from_its_rtf() -> None:
    # The example of [MS-OXRTFCP], section 4.1.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert decompress_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    tree = message_tree({0x0037: "Only RTF"}) | {"__substg1.0_10090102": packed}
    assert read_document("a.msg", compound_file(tree)).text == "Subject: Only RTF\nhello world"
    with pytest.raises(ValueError, match="too much"):
        decompress_rtf(b"\0\0\0\0\xff\xff\xff\x7fLZFu")
