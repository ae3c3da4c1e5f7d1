"""Notebooks are read cell by cell: Markdown, code and the text of outputs, each with its number."""

from __future__ import annotations

import json
from typing import Any

from research.readers.documents import read_document
from tests.readers.reading import assert_in_order, outline, read_sample, refusal


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells} | more).encode()


def test_each_cell_is_a_section_with_its_number() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": ["\x1b[31m40\x1b[0m yuan\n", "done\n"]}
    result = {"output_type": "execute_result", "data": {"text/plain": ["   fee\n", "0   40"], "text/html": "<b>x</b>"}}
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no fee", "traceback": ["x"]}
    data = notebook(
        {"cell_type": "markdown", "source": ["# 西湖门票\n", "\n", "面积 10<sup>6</sup> m。"]},
        {"cell_type": "code", "source": "print(fee)", "outputs": [stream, result, error]},
        {"cell_type": "markdown", "source": "## Sources\n\nThe office."},
        {"cell_type": "raw", "source": "As it is."},
    )
    document = read_document("a.ipynb", data)
    assert document.title == "西湖门票"
    assert outline(document) == [
        ("", 1, "面积 10⁶ m。"),
        ("", 2, "print(fee)\n40 yuan\ndone\n   fee\n0   40\nValueError: no fee"),
        ("Sources", 3, "The office."),
        ("Sources", 4, "As it is."),
    ]


def test_a_notebook_of_the_third_version_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Fees"},
        {"cell_type": "code", "input": "fee", "outputs": [{"output_type": "pyout", "text": "40"}]},
    ]
    data = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    assert outline(read_document("a.ipynb", data)) == [("Fees", 2, "fee\n40")]


def test_a_notebook_by_another_program_is_read_in_order() -> None:
    document = read_sample("pandoc.ipynb")
    assert_in_order(
        document.text,
        (
            "The lake holds 1.4 × 10⁶ m³ of water and CO₂ is measured.",
            "Leifeng Pagoda",
            "Year: 2023; Visitors: 28 million",
            "西湖全年开放。",
        ),
    )


def test_other_files_are_refused_by_name() -> None:
    assert "no Jupyter notebook" in refusal("a.ipynb", b'{"a": 1}').detail
    assert refusal("a.ipynb", b'{"cells": ').problem == "unreadable"
    assert refusal("a.ipynb", b"[" * 100_000).limit == "depth"
    assert refusal("a.ipynb", notebook()).problem == "empty"
    assert refusal("a.ipynb", notebook({"cell_type": "code", "source": 5, "outputs": {"a": 1}})).problem == "empty"
