"""How fast documents are indexed and found, over made-up documents in Chinese and English.

The documents are shuffled from the sample library's sentences by a seeded generator: each is about
a place with an invented name, with numbers of its own. The file names say which language. For the
index they have sections as long as the sample's; for the searches as long as those of a report.
"""

from __future__ import annotations

import gc
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from research.application import Application
from research.core.settings import load_settings
from research.core.text.sentences import split_sentences
from research.core.text.tokenizer import STOP_WORDS, has_han, split_words, tokenize
from research.readers.documents import read_document
from research.sources.library.index import Library
from research.sources.library.prepare import load_sample_files
from tests.benchmarks.figures import Figure, percentile

DOCUMENTS = 1_000
SECTIONS = 25
PASSAGES = 100_000
QUESTIONS = 200
BUILD_TARGET = 10.0  # seconds for DOCUMENTS * SECTIONS sections
QUERY_TARGET = 60.0  # milliseconds
ANSWERS = 40
ANSWER_TARGET = 1.0  # second
SEED = 20261121

_SYLLABLES = ("ba", "chen", "dan", "fu", "gao", "hai", "jin", "kun", "lan", "ning", "qing", "tai")
_CHARACTERS = "岚溪澜岑霁泽沅澧屿崀峪浔潇湄涪洮沭泗淄滦"
_KINDS = {"zh": ("古镇", "石窟", "博物馆", "湖", "古城"), "en": ("Old Town", "Caves", "Museum")}


class Source:
    """The sample library's sentences and headings, in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.titles: list[str] = []
        self.headings: list[str] = []
        self.sizes: list[int] = []
        self.sentences: list[tuple[str, str]] = []
        for name, data in load_sample_files():
            document = read_document(name, data)
            if document.language != language:
                continue
            title = document.title.removeprefix("The ")
            self.titles.append(title)
            for section in document.sections:
                self.headings.append(section.heading or "概况")
                body = document.text[section.start : section.end]
                pieces = [(title, body[a:b]) for a, b in split_sentences(body)]
                self.sizes.append(len(pieces))
                self.sentences += pieces


def documents(seed: int = SEED, longer: int = 1) -> Iterator[tuple[str, bytes]]:
    """Endless made-up documents as Markdown files, Chinese and English in turn.

    Their sections have `longer` times as many sentences as the sample's.
    """
    rng = random.Random(seed)
    sources = [Source("zh"), Source("en")]
    for number in count():
        source = sources[number % 2]
        place = _place(rng, source.language)
        lines = [f"# {place}", ""]
        for _ in range(SECTIONS):
            lines += [
                f"## {rng.choice(source.headings)}",
                "",
                _section(rng, source, place, longer),
                "",
            ]
        yield f"{source.language}-{seed}-{number:05}.md", "\n".join(lines).encode()


def _place(rng: random.Random, language: str) -> str:
    kind = rng.choice(_KINDS[language])
    if language == "zh":
        return "".join(rng.sample(_CHARACTERS, 2)) + kind
    return f"{''.join(rng.sample(_SYLLABLES, 3)).title()} {kind}"


def _section(rng: random.Random, source: Source, place: str, longer: int) -> str:
    out = []
    for title, sentence in rng.sample(source.sentences, rng.choice(source.sizes) * longer):
        own = sentence.replace(title, place)
        out.append(re.sub(r"\d+", lambda m: str(rng.randrange(10 ** len(m[0]))), own))
    return ("" if source.language == "zh" else " ").join(out)


def queries(texts: Sequence[str], number: int = QUESTIONS) -> list[str]:
    """Questions of 3 to 8 content words, each from one passage, Chinese and English in turn."""
    rng = random.Random(SEED)
    pools = [[t for t in texts if has_han(t)], [t for t in texts if not has_han(t)]]
    out: list[str] = []
    while len(out) < number:
        text = rng.choice(pools[len(out) % 2])
        content = [w for w in dict.fromkeys(split_words(text)) if w not in STOP_WORDS and not w.isdigit()]
        size = rng.randint(3, 8)
        if len(content) >= size:
            out.append(" ".join(rng.sample(content, size)))
    return out


def _timed(library: Library, asked: Sequence[str], subjects: Sequence[Sequence[str]]) -> list[float]:
    """Milliseconds of each search."""
    out = []
    for question, subject in zip(asked, subjects, strict=True):
        started = time.perf_counter()
        library.search(question, subject=subject)
        out.append((time.perf_counter() - started) * 1000)
    return out


def _tokenising(files: Sequence[tuple[str, bytes]]) -> float:
    started = time.perf_counter()
    for _, data in files:
        for line in data.decode().splitlines():
            tokenize(line)
    return time.perf_counter() - started


def figures() -> Iterator[Figure]:
    files = list(islice(documents(), DOCUMENTS))
    sections = DOCUMENTS * SECTIONS
    yield Figure(f"cutting the words of {sections:,} sections", _tokenising(files), "s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.db"
        library = Library(path)
        library.set_sample_enabled(False)
        gc.collect()
        gc.freeze()  # as the server does
        started, cpu = time.perf_counter(), time.process_time()
        outcomes = list(library.add_files(files))
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        passages = sum(outcome.passage_count for outcome in outcomes)
        size = sum(len(data) for _, data in files) / 1e6
        note = f"{passages:,} passages, {size:.0f} MB of files, {cpu:.1f} s of CPU"
        yield Figure(f"index of {sections:,} sections", seconds, "s", BUILD_TARGET, note=note)
        started = time.perf_counter()
        again = list(library.add_files(files))
        assert all(outcome.outcome == "unchanged" for outcome in again)
        yield Figure("the same again, unchanged", time.perf_counter() - started, "s")
        more = documents(SEED + 1, longer=3)
        while passages < PASSAGES:
            passages += sum(o.passage_count for o in library.add_files(islice(more, DOCUMENTS // 10)))
        yield from _query_figures(library, passages)
        titles = [entry.title for entry in library.list_all()]
        library.close()
        yield from _answer_figures(Path(folder), titles)
        gc.unfreeze()
        yield Figure(f"size on disk, {passages:,} passages", path.stat().st_size / 1e6, "MB")


def _answer_figures(folder: Path, titles: Sequence[str]) -> Iterator[Figure]:
    """Whole answers without a model, from the start of a run to its end."""
    rng = random.Random(SEED)
    desk = Application(load_settings({}, data_dir=folder))
    times = []
    try:
        for title in rng.sample(titles, ANSWERS):
            wanted = "的门票和交通" if has_han(title) else ": tickets and transport"
            started = time.perf_counter()
            run = desk.runs.start(f"{title}{wanted}")
            for _ in desk.runs.follow(run.id):
                pass
            times.append(time.perf_counter() - started)
    finally:
        desk.close()
    for share in (0.5, 0.95):
        target = ANSWER_TARGET if share == 0.95 else None
        note = f"{ANSWERS} questions of two parts, {len(titles):,} documents"
        yield Figure(
            f"answer without a model, p{share * 100:.0f}",
            percentile(times, share),
            "s",
            target,
            note=note,
        )


def _query_figures(library: Library, passages: int) -> Iterator[Figure]:
    entries = library.list_all()
    rng = random.Random(SEED)
    chosen = rng.sample(entries, QUESTIONS)
    texts = [library.document_text(entry.id) for entry in chosen]
    asked = queries([text[at : at + 300] for text in texts for at in (0, 2_000)])
    title = {True: [], False: []}
    for entry in chosen:
        title[has_han(entry.title)].append(entry.title)
    named = [(rng.choice(title[has_han(question)]),) for question in asked]
    for label, subjects in (("", [()] * len(asked)), (" with a subject", named)):
        library.search(asked[0])
        cold = _timed(library, asked, subjects)
        for what, pick in (("", asked), (", Chinese", None), (", English", None)):
            times = [
                t
                for t, question in zip(cold, asked, strict=True)
                if pick is not None or has_han(question) == (what == ", Chinese")
            ]
            for share in (0.5, 0.95):
                yield Figure(
                    f"search{label}{what}, p{share * 100:.0f}",
                    percentile(times, share),
                    "ms",
                    QUERY_TARGET if share == 0.95 else None,
                    note=f"{len(times)} questions, {passages:,} passages",
                )
