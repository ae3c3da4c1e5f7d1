"""Outlook messages (.msg) as mails, so that they are read like any other mail.

Source: Microsoft, [MS-OXMSG] (storages and streams), [MS-OXPROPS] (numbers of the properties).
"""

from __future__ import annotations

import codecs
import hashlib
import struct
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.parser import HeaderParser
from email.policy import default
from email.utils import format_datetime
from typing import Any

from research.readers.drafts import FileDraft, UnreadableFileError, decode_text, one_line
from research.readers.mail import MAX_ATTACHED_DEPTH, draft_mail
from research.readers.rich_text import read_rtf

_SUBJECT, _HEADERS, _BODY, _HTML, _RTF = 0x0037, 0x007D, 0x1000, 0x1013, 0x1009
_SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP, _DISPLAY_TO, _DISPLAY_CC = 0x0C1A, 0x0C1F, 0x5D01, 0x0E04, 0x0E03
_SENT, _DELIVERED, _CODE_PAGE, _INTERNET_CODE_PAGE = 0x0039, 0x0E06, 0x3FFD, 0x3FDE
_FILE_DATA, _FILE_NAME, _SHORT_FILE_NAME, _DISPLAY_NAME = 0x3701, 0x3707, 0x3704, 0x3001
MAX_RTF_BYTES = 32 * 1024**2
_UNCOMPRESSED = 0x414C454D
_RTF_DICTIONARY = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_IS_HIDDEN = 0x7FFE
_EMBEDDED = "__substg1.0_3701000D"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)  # of Windows, in units of 100 ns


class _Storage:
    """The properties of a message or an attachment within a compound file."""

    def __init__(self, file: Any, path: tuple[str, ...], header_bytes: int) -> None:
        """`header_bytes` is the size of what precedes the properties of fixed length."""
        self._file = file
        self.path = path
        data = self._stream("__properties_version1.0")[header_bytes:]
        self._fixed = {
            struct.unpack_from("<H", data, offset + 2)[0]: struct.unpack_from("<Q", data, offset + 8)[0]
            for offset in range(0, len(data) - 15, 16)
        }

    def _stream(self, name: str) -> bytes:
        path = [*self.path, name]
        return bytes(self._file.openstream(path).read()) if self._file.exists(path) else b""

    def integer(self, number: int) -> int:
        """Return a property of fixed length, 0 if there is none."""
        return int(self._fixed.get(number, 0))

    def content(self, number: int) -> bytes:
        return self._stream(f"__substg1.0_{number:04X}0102")

    def text(self, number: int) -> str:
        """Return a text, stored as UTF-16 or in the code page of the message."""
        wide = self._stream(f"__substg1.0_{number:04X}001F")
        if wide:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        return self.decode(self._stream(f"__substg1.0_{number:04X}001E")).rstrip("\0")

    def decode(self, data: bytes) -> str:
        for number in (_INTERNET_CODE_PAGE, _CODE_PAGE):
            page = self.integer(number) & 0xFFFFFFFF
            name = "utf-8" if page == 65001 else "gb18030" if page in (936, 20936, 54936) else f"cp{page}"
            with suppress(LookupError, UnicodeError):
                codecs.lookup(name)
                return data.decode(name)
        return decode_text(data) if data.strip() else ""

    def moment(self, number: int) -> datetime | None:
        ticks = self.integer(number)
        return _EPOCH + timedelta(microseconds=ticks // 10) if ticks else None

    def attachments(self) -> Iterator[_Storage]:
        prefix = len(self.path)
        for path in self._file.listdir(streams=False, storages=True):
            if (*path[:prefix],) == self.path and len(path) == prefix + 1 and path[prefix].startswith("__attach"):
                yield _Storage(self._file, tuple(path), 8)

    def embedded(self) -> _Storage | None:
        """Return the message that an attachment is, None if it is a file."""
        path = (*self.path, _EMBEDDED)
        return _Storage(self._file, path, 24) if self._file.exists([*path]) else None


def read_msg(data: bytes) -> FileDraft:
    """Read a mail that Outlook has saved.

    Raises:
        UnreadableFileError: the file is no such mail, or has too many attachments.
    """
    import olefile

    if not olefile.isOleFile(data=data):
        raise UnreadableFileError("unreadable", "This is no Outlook message; save the mail anew as .msg or .eml.")
    with olefile.OleFileIO(data) as file:
        if not file.exists("__properties_version1.0"):
            raise UnreadableFileError("unreadable", "This is no Outlook message but another Office file.")
        message = _to_message(_Storage(file, (), 32))
    digest = hashlib.sha256(data).hexdigest()
    for number, part in enumerate(message.walk()):
        if part.get_content_maintype() == "multipart":  # the same file always holds the same attached mails
            part.set_boundary(f"=_{digest}_{number}")
    return draft_mail(message)


def _to_message(storage: _Storage, depth: int = 1) -> EmailMessage:
    """Return a stored message as a mail, without the attachments of mails that are attached too deep.

    Raises:
        UnreadableFileError: its text is stored as RTF that cannot be read.
    """
    message = EmailMessage(policy=default)
    for name, value in _headers(storage).items():
        if value := one_line(value, 2_000):
            message[name] = value
    plain = storage.text(_BODY)
    html = storage.text(_HTML) or storage.decode(storage.content(_HTML))
    if not plain.strip() and not html.strip() and (packed := storage.content(_RTF)):
        plain = "\n\n".join(block.text for block in read_rtf(decompress_rtf(packed)).blocks)
    message.set_content(plain)
    if html.strip():
        message.add_alternative(html, subtype="html")
    for attachment in storage.attachments() if depth <= MAX_ATTACHED_DEPTH + 1 else ():
        if attachment.integer(_IS_HIDDEN):  # a picture that the HTML text shows
            continue
        name = one_line(attachment.text(_FILE_NAME) or attachment.text(_SHORT_FILE_NAME))
        embedded = attachment.embedded()
        if embedded is not None:
            inner_name = name or one_line(attachment.text(_DISPLAY_NAME)) or None
            message.add_attachment(_to_message(embedded, depth + 1), filename=inner_name)
        else:
            content = attachment.content(_FILE_DATA)
            message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name or None)
    return message


def decompress_rtf(data: bytes) -> bytes:
    """Return the RTF text of a message, stored in the LZFu format.

    Source: Microsoft, [MS-OXRTFCP].

    Raises:
        ValueError: the data is damaged or too long.
    """
    _, size, magic = struct.unpack_from("<III", data)
    if size > MAX_RTF_BYTES:
        raise ValueError("too much text")
    if magic == _UNCOMPRESSED:
        return data[16 : 16 + size]
    out, position = bytearray(_RTF_DICTIONARY), 16
    while position < len(data) and len(out) < size + len(_RTF_DICTIONARY):
        control, position = data[position], position + 1
        for bit in range(8):
            if not control >> bit & 1:
                out += data[position : position + 1]
                position += 1
                continue
            reference = int.from_bytes(data[position : position + 2], "big")
            position += 2
            start = len(out) - (len(out) - (reference >> 4)) % 4096  # in the last 4,096 bytes
            if start == len(out) or start < 0:
                return bytes(out[len(_RTF_DICTIONARY) :][:size])
            for offset in range(start, start + (reference & 15) + 2):
                out.append(out[offset])
    return bytes(out[len(_RTF_DICTIONARY) :][:size])


def _headers(storage: _Storage) -> dict[str, str]:
    """Return the headers of a message: as received, or else from its properties."""
    received = HeaderParser(policy=default).parsestr(storage.text(_HEADERS))
    sent = storage.moment(_SENT) or storage.moment(_DELIVERED)
    address = storage.text(_SENDER_SMTP) or storage.text(_SENDER_ADDRESS)
    name = storage.text(_SENDER_NAME)
    stated = {
        "From": _mailbox(name, address),
        "To": storage.text(_DISPLAY_TO),
        "Cc": storage.text(_DISPLAY_CC),
        "Date": format_datetime(sent) if sent else "",
        "Subject": storage.text(_SUBJECT),
    }
    return {key: str(received[key] or "") or value for key, value in stated.items()}


def _mailbox(name: str, address: str) -> str:
    """Return name and address of a person as in a header; addresses of Exchange servers are left out."""
    with suppress(ValueError, IndexError):
        return str(Address(name, addr_spec=address)) if "@" in address else name
    return name
