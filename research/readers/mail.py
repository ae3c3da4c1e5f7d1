"""Mails as text: headers, body with quoted replies, and the attached files.

The text after an introduction ("On … wrote:") that is marked with ">" is a section under this introduction,
because its author is another one.
"""

from __future__ import annotations

import email.policy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from email.errors import CloseBoundaryNotFoundDefect
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from typing import Any

from research.core.text.sentences import unwrap_lines
from research.readers.drafts import FileDraft, UnreadableFileError, decode_text, one_line, remove_invisible
from research.readers.markup import page_blocks, parse_page

MAX_ATTACHMENTS = 100  # of a mail, with those of the mails attached to it
MAX_ATTACHED_DEPTH = 3  # mails that may be attached to each other
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_QUOTE_MARKS = re.compile(r"(?:\s?>)+ ?")
_ENCRYPTED_TYPES = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_MIN_PLAIN_SHARE = 0.5  # of the characters of the HTML text; a shorter plain text stands in for it


def read_eml(data: bytes) -> FileDraft:
    """Read a mail (RFC 5322, MIME).

    Raises:
        UnreadableFileError: the file is no mail, is encrypted, or has too many attachments.
    """
    return draft_mail(BytesParser(_class=EmailMessage, policy=email.policy.default).parsebytes(data))


def draft_mail(message: EmailMessage) -> FileDraft:
    """Return the draft of a mail.

    Raises:
        UnreadableFileError: it is no mail, is encrypted, or has too many attachments.
    """
    headers = {name: _header(message, name) for name in _HEADERS}
    if not any(headers.values()):
        raise UnreadableFileError(
            "unreadable", "This is no mail: it has none of the headers From, To, Date and Subject."
        )
    if message.get_content_type() in _ENCRYPTED_TYPES:
        detail = "The mail is encrypted, or packed in its signature; save it from your mail program without."
        raise UnreadableFileError("encrypted", detail)
    plain, html = (message.get_body((kind,)) for kind in ("plain", "html"))
    further, attachments = _sort_parts(message, [plain, html])
    draft = FileDraft(title=headers["Subject"], published=_sent_day(message), attachments=attachments)
    defects = (defect for part in message.walk() for defect in part.defects)
    draft.is_cut = any(isinstance(defect, CloseBoundaryNotFoundDefect) for defect in defects)
    html_root = parse_page(_payload(html), html.get_content_charset("")) if html is not None else None
    draft.add_text("\n".join([*_header_lines(headers), *_attachment_line(attachments)]))
    _add_body(draft, _part_text(plain) if plain is not None else "", html_root)
    for part in further:
        is_html = part.get_content_subtype() == "html"
        root = parse_page(_payload(part), part.get_content_charset("")) if is_html else None
        _add_body(draft, "" if is_html else _part_text(part), root)
    return draft


def _header_lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items() if value]


def _attachment_line(attachments: Sequence[tuple[str, bytes]]) -> list[str]:
    return [f"Attachments: {'; '.join(one_line(name) for name, _ in attachments)}"] if attachments else []


def _sent_day(message: EmailMessage) -> date | None:
    """Return the day on which a mail was sent, in the sender's time zone."""
    try:
        return parsedate_to_datetime(str(message["Date"])).date()
    except (ValueError, TypeError, IndexError):
        return None


def _header(message: EmailMessage, name: str) -> str:
    """Return a header with its encoded words decoded; bytes beyond ASCII without encoding are guessed."""
    try:
        text = str(message[name] or "")
    except (ValueError, LookupError, AttributeError):  # raised by the library for damaged addresses and dates
        text = ""
    if re.search("[\udc80-\udcff\ufffd]", text):
        raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
        with suppress(UnreadableFileError, UnicodeError):
            text = decode_text(str(raw).encode("ascii", "surrogateescape"))
    return one_line(text, 2_000)


def _payload(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _part_text(part: MIMEPart) -> str:
    """Return the text of a part in its stated charset; without a valid one it is detected."""
    data = _payload(part)
    charset = part.get_content_charset("")
    # Many mails state GB2312 or nothing for characters of its supersets.
    charset = {"gb2312": "gb18030", "gbk": "gb18030", "us-ascii": "", "ascii": ""}.get(charset, charset)
    try:
        return data.decode(charset) if charset else decode_text(data) if data.strip() else ""
    except (LookupError, UnicodeError):
        return decode_text(data)


def _sort_parts(
    message: EmailMessage, bodies: Sequence[MIMEPart | None]
) -> tuple[list[MIMEPart], list[tuple[str, bytes]]]:
    """Return the further texts of the body, and the name and content of each attachment.

    Pictures that the HTML text shows are part of it, such as the logo of a signature. An attached mail is one file with its own attachments.

    Raises:
        UnreadableFileError: there are too many attachments.
    """
    further: list[MIMEPart] = []
    attachments: list[tuple[str, bytes]] = []
    for part in _leaves(message):
        if any(part is body for body in bodies):
            continue
        name = part.get_filename()
        is_text = part.get_content_type() in ("text/plain", "text/html")
        if is_text and not name and part.get_content_disposition() != "attachment":
            further.append(part)
            continue
        is_picture = part.get_content_maintype() == "image" and part["Content-ID"] is not None
        if is_picture and part.get_content_disposition() != "attachment":
            continue
        attachments.append(_attachment(part, name, len(attachments) + 1))
        if len(attachments) > MAX_ATTACHMENTS:
            detail = f"The mail has more than {MAX_ATTACHMENTS} attachments; save those that matter on their own."
            raise UnreadableFileError("too large", detail, "attachments")
    return further, attachments


def _attachment(part: MIMEPart, name: str | None, number: int) -> tuple[str, bytes]:
    """Return the name of an attachment, made up from its number if it has none, and its content."""
    if part.get_content_type() == "message/rfc822" and isinstance(part.get_payload(), list):
        inner: Any = part.get_payload(0)
        name = name or f"{_header(inner, 'Subject')[:80] or f'mail-{number}'}.eml"
        unchanged = email.policy.default.clone(refold_source="none")
        return name if name.lower().endswith(".eml") else f"{name}.eml", inner.as_bytes(policy=unchanged)
    return name or f"attachment-{number}.{part.get_content_subtype()}", _payload(part)


def _leaves(message: Any) -> Iterator[Any]:
    """Yield the parts of a message that hold no further parts; attached mails are not entered."""
    if message.get_content_maintype() == "multipart" and isinstance(message.get_payload(), list):
        for part in message.get_payload():
            yield from _leaves(part)
    else:
        yield message


def _add_body(draft: FileDraft, plain: str, html_root: Any) -> None:
    """Add a body: its plain text, or the HTML if the plain text is missing or a mere remark."""
    draft.open_headings = []
    anchors = _mark_quotes(html_root) if html_root is not None else {}
    blocks = page_blocks(html_root, anchors) if html_root is not None else []
    if plain.strip() and len(plain) >= _MIN_PLAIN_SHARE * sum(len(block.text) for block in blocks):
        _add_plain_body(draft, plain)
        return
    for block in blocks:
        if block.anchor:
            draft.open_headings = [(0, _introduction(draft) or ">")] if anchors[block.anchor] else []
        elif block.level:
            draft.add_heading(block.level, block.text)
        else:
            draft.add_text(block.text)


def _mark_quotes(root: Any) -> dict[str, bool]:
    """Mark begin and end of the outermost quotations in HTML; return the ids, True for those of a begin."""
    marks: dict[str, bool] = {}
    for quote in [*root.iter("blockquote")]:
        if next(quote.iterancestors("blockquote"), None) is None and quote.getparent() is not None:
            begin, end = f"quote-{len(marks)}", f"quote-{len(marks) + 1}"
            marks |= {begin: True, end: False}
            quote.set("id", begin)
            after = quote.makeelement("span", id=end)
            after.tail, quote.tail = quote.tail, None
            quote.addnext(after)
    return marks


def _introduction(draft: FileDraft) -> str:
    """Return the last line of a draft if it introduces a quotation, as in "On … wrote:"."""
    last = draft.blocks[-1].text.strip().splitlines()[-1].strip() if draft.blocks else ""
    return one_line(last) if last.endswith((":", "：")) else ""


def _add_plain_body(draft: FileDraft, text: str) -> None:
    """Add a plain body; each stretch of quoted lines is a section under the line that introduces it."""
    stretches: list[tuple[int, list[str]]] = []
    for line in remove_invisible(text).split("\n"):
        match = _QUOTE_MARKS.match(line)
        depth = match[0].count(">") if match else 0
        if not stretches or (stretches[-1][0] != depth and (line.strip() or depth)):
            stretches.append((depth, []))
        stretches[-1][1].append(line[match.end() :] if match else line)
    introduction = ""
    for depth, lines in stretches:
        draft.open_headings = [(1, introduction or ">" * depth)] if depth else []
        for block in re.split(r"\n(?:[ \t\u3000]*\n)+", "\n".join(lines)):
            draft.add_text(unwrap_lines(block))
        introduction = _introduction(draft)
