"""Outlook messages for tests, written as compound files ([MS-CFB] version 3, [MS-OXMSG])."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any

SECTOR, MINI_SECTOR, CUTOFF = 512, 64, 4096
END, FREE, FAT_SECTOR, NOTHING = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
Tree = dict[str, Any]  # a stream is bytes, a storage another tree


def compound_file(tree: Tree) -> bytes:
    """Return a compound file with these streams and storages."""
    entries: list[dict[str, Any]] = [{"name": "Root Entry", "kind": 5, "child": NOTHING, "data": b""}]
    _add_entries(entries, 0, tree)
    sectors: list[bytes] = []
    fat: list[int] = []

    def store(data: bytes) -> int:
        """Append a chain of sectors and return the number of the first."""
        count = -(-len(data) // SECTOR)
        if not count:
            return END
        first = len(sectors)
        sectors.extend(data[n * SECTOR : (n + 1) * SECTOR].ljust(SECTOR, b"\0") for n in range(count))
        fat.extend([*range(first + 1, first + count), END])
        return first

    mini_stream, mini_fat = b"", list[int]()
    for entry in entries[1:]:
        data = entry["data"]
        if entry["kind"] == 2 and 0 < len(data) < CUTOFF:
            entry["start"] = first = len(mini_fat)
            count = -(-len(data) // MINI_SECTOR)
            mini_fat.extend([*range(first + 1, first + count), END])
            mini_stream += data.ljust(count * MINI_SECTOR, b"\0")
        elif entry["kind"] == 2:
            entry["start"] = store(data)
    entries[0] |= {"start": store(mini_stream), "data": mini_stream}
    mini_fat_start = store(b"".join(struct.pack("<I", n) for n in mini_fat))
    directory_start = store(b"".join(map(_directory_entry, entries)))
    fat_count = 1
    while fat_count * (SECTOR // 4) < len(fat) + fat_count:
        fat_count += 1
    fat_start = len(sectors)
    fat += [FAT_SECTOR] * fat_count
    table = b"".join(struct.pack("<I", n) for n in fat).ljust(fat_count * SECTOR, b"\xff")
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, fat_count,
        directory_start, 0, CUTOFF, mini_fat_start, -(-len(mini_fat) * 4 // SECTOR), END, 0,
    )  # fmt: skip
    header += b"".join(struct.pack("<I", fat_start + n if n < fat_count else FREE) for n in range(109))
    return header + b"".join(sectors) + table


def _add_entries(entries: list[dict[str, Any]], parent: int, tree: Tree) -> None:
    """Add a storage's entries as a chain of right siblings."""
    previous = NOTHING
    for name, value in sorted(tree.items()):
        number = len(entries)
        kind = 2 if isinstance(value, bytes) else 1
        entries.append({"name": name, "kind": kind, "child": NOTHING, "data": value if kind == 2 else b""})
        entries[parent if previous == NOTHING else previous]["child" if previous == NOTHING else "right"] = number
        if kind == 1:
            _add_entries(entries, number, value)
        previous = number


def _directory_entry(entry: dict[str, Any]) -> bytes:
    name = (entry["name"] + "\0").encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII16x4x8x8xIQ", name, len(name), entry["kind"], 1, NOTHING, entry.get("right", NOTHING),
        entry["child"], entry.get("start", 0), len(entry["data"]),
    )  # fmt: skip


def message_tree(
    texts: dict[int, str], attachments: tuple[Tree, ...] = (), sent: datetime | None = None, header_bytes: int = 32
) -> Tree:
    """Return the storage of a message with these texts by the number of their property."""
    fixed = b""
    if sent:
        ticks = int((sent - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
        fixed = struct.pack("<HHIQ", 0x40, 0x0039, 6, ticks)
    tree: Tree = {"__properties_version1.0": bytes(header_bytes) + fixed}
    tree |= {f"__substg1.0_{number:04X}001F": text.encode("utf-16-le") for number, text in texts.items()}
    return tree | {f"__attach_version1.0_#{n:08X}": attachment for n, attachment in enumerate(attachments)}


def file_tree(name: str, data: bytes) -> Tree:
    """Return the storage of an attached file."""
    return {
        "__properties_version1.0": bytes(8),
        "__substg1.0_3707001F": name.encode("utf-16-le"),
        "__substg1.0_37010102": data,
    }


def attached_message_tree(message: Tree) -> Tree:
    """Return the storage of an attached message."""
    return {"__properties_version1.0": bytes(8), "__substg1.0_3701000D": message}
