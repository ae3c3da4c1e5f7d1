"""How well the library finds the text that a question was written for, and quotes the answer from it.

Each line of a file is a text with questions and their answers; the texts of a file make one library.
The questions, and then the texts, are also tried in traditional characters: `--script`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.nodes.question import clean_question
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import Plan, RunOptions
from research.sources.library.index import Library
from research.sources.library.retriever import LibraryRetriever

Script = Literal["as written", "questions", "texts"]
SCRIPTS: tuple[Script, ...] = ("as written", "questions", "texts")
DEEP = 5  # hits that are looked through
FIGURES = ("recall@1", "recall@5", "quoted")


@dataclass(frozen=True)
class Text:
    """A line of a file: a text, and questions that it answers, each with the spellings of the answer."""

    text: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def read(cls, line: str, script: Script) -> Text:
        row = json.loads(line)
        asked = _traditional() if script == "questions" else str
        told = _traditional() if script == "texts" else str
        return cls(
            told(row["text"]),
            tuple((asked(one["q"]), tuple(map(told, one["answers"]))) for one in row["questions"]),
        )


@lru_cache(1)
def _traditional() -> Callable[[str], str]:
    import opencc  # for the other scripts alone

    convert: Callable[[str], str] = opencc.OpenCC("s2t").convert
    return convert


def measured(files: Iterable[Path], script: Script = "as written") -> dict[str, Any]:
    """`sets` with a row for each file: the questions (`n`), the shares of them whose text is the first
    hit or among five, and of those whose answer without a model quotes an answer (`quoted`)."""
    return {"sets": [_measured(file, script) for file in files]}


def _measured(file: Path, script: Script) -> dict[str, Any]:
    lines = file.read_text(encoding="utf-8").splitlines()
    texts = [Text.read(line, script) for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder) / "library.db")
        try:
            library.set_sample_enabled(False)
            added = library.add_files((f"{n}.txt", one.text.encode()) for n, one in enumerate(texts))
            assert all(item.is_ok for item in added)
            found = asyncio.run(_asked(library, texts))
        finally:
            library.close()
    shares = {name: round(sum(one[name] for one in found) / len(found), 4) for name in FIGURES}
    return {"set": file.name, "n": len(found), **shares}


async def _asked(library: Library, texts: list[Text]) -> list[dict[str, bool]]:
    found = []
    for n, text in enumerate(texts):
        for question, answers in text.questions:
            names = [hit.name for hit in library.search(question, limit=DEEP)]
            quotes = await _quotes(library, question)
            found.append(
                {
                    "recall@1": names[:1] == [f"{n}.txt"],
                    "recall@5": f"{n}.txt" in names,
                    "quoted": any(answer in quote for answer in answers for quote in quotes),
                }
            )
    return found


async def _quotes(library: Library, asked: str) -> list[str]:
    reasoner, source = ExtractiveReasoner(library), LibraryRetriever(library)
    question, options = clean_question(asked), RunOptions()
    plan = await reasoner.plan(ReasonerInput(question, options, ignore_event))
    if not isinstance(plan, Plan):
        return []
    findings = [await source.search(task, ignore_event) for task in plan.tasks]
    reflection = await reasoner.reflect(ReasonerInput(question, options, ignore_event, plan, findings), 1)
    findings += [await source.search(task, ignore_event) for task in reflection.follow_ups]
    draft = await reasoner.write(ReasonerInput(question, options, ignore_event, plan, findings), [reflection])
    return [span.text for span in draft.spans if span.kind == "quote"]


def told(found: dict[str, Any]) -> Iterator[str]:
    """The figures as a table."""
    yield f"{'set':<30}{'n':>6}" + "".join(f"{name:>10}" for name in FIGURES)
    for row in found["sets"]:
        yield f"{row['set']:<30}{row['n']:>6}" + "".join(f"{row[name]:>10.3f}" for name in FIGURES)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.yardsticks.retrieval")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--script", choices=SCRIPTS, default="as written", help="made traditional")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = measured(asked.files, asked.script)
    print(json.dumps(found, ensure_ascii=False) if asked.json else "\n".join(told(found)))


if __name__ == "__main__":
    main()
