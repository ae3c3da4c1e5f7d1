"""Every text is there in both languages, with the same values, and is written as its language is."""

from __future__ import annotations

import re

import pytest
from babel import Locale
from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from research import has_message, message
from research.core.i18n import LOCALES, _message_definitions
from research.core.records import Language
from tests.catalogue import LANGUAGES, messages, variables, written
from tests.tables import each_row

HAN = "[\u4e00-\u9fff]"
# Texts that name nothing: punctuation, marks and names that are the same in every language.
MARKS = re.compile(
    r"mark-|digest-between|outcome-(is|year|things|and)|report-(cite|comma|semicolon|colon|stop|aside|by|spent|poi|limit-tokens)|report-source-|report-kind-|fact-wikidata_(stated|year|month|day)"
)


def shown(key: str, language: str) -> str:
    assert language in LANGUAGES
    return message(key, language, **dict.fromkeys(variables(key, language), "0"))  # type: ignore[arg-type]


def references(entry: ast.Message) -> list[object]:
    """What a message refers to beside its values: other messages, terms."""
    found: list[object] = []

    class Looking(Visitor):
        def visit_MessageReference(self, node: ast.MessageReference) -> None:
            found.append(node.id.name)

        def visit_TermReference(self, node: ast.TermReference) -> None:
            found.append(node.id.name)

    Looking().visit(entry)
    return found


def test_both_languages_have_the_same_messages_with_the_same_values() -> None:
    """What one of them writes the other has too, be it only to choose a form: 等 stands for a number."""
    chinese, english = messages("zh"), messages("en")
    assert chinese.keys() == english.keys()
    for one, other in (LANGUAGES, LANGUAGES[::-1]):
        assert [key for key in english if written(key, one) - variables(key, other)] == []


@each_row("language", LANGUAGES)
def test_each_message_is_read_alone_as_it_is_in_its_file(language: Language) -> None:
    alone = {name: FluentParser().parse(entry).body for name, entry in _message_definitions(language).items()}
    assert alone.keys() == messages(language).keys()
    assert [name for name, body in alone.items() if len(body) != 1] == []
    assert [name for name, (entry,) in alone.items() if not entry.equals(messages(language)[name])] == []
    assert [name for name, entry in messages(language).items() if references(entry)] == []


@pytest.mark.slow
def test_no_text_is_empty() -> None:
    assert [key for key in messages("en") for lang in LANGUAGES if not shown(key, lang)] == []


def test_chinese_texts_are_chinese_and_english_ones_are_not() -> None:
    keys = [key for key in messages("en") if not MARKS.match(key)]
    assert [key for key in keys if not re.search(HAN, shown(key, "zh"))] == []
    assert [key for key in keys if re.search(HAN, shown(key, "en"))] == []
    assert [key for key in keys if not re.search("[A-Za-z]", shown(key, "en"))] == []


def test_chinese_texts_have_chinese_punctuation() -> None:
    assert [key for key in messages("zh") if re.search(HAN + "[,;:!?]", shown(key, "zh"))] == []


def test_the_locales_are_those_that_babel_knows() -> None:
    for code in LOCALES.values():
        assert Locale.parse(code, sep="-")


@each_row(
    ("n", "told"),
    [
        (1, "1 run is ahead of this one"),
        (2, "2 runs are ahead of this one"),
        (0, "0 runs are ahead of this one"),
        ("1", "1 run is ahead of this one"),
        ("1,204", "1,204 runs are ahead of this one"),
        (2026, "2026 runs are ahead of this one"),
        (1.5, "1.5 runs are ahead of this one"),
    ],
)
def test_a_number_chooses_the_form_and_is_written_as_it_comes(n: object, told: str) -> None:
    assert message("run.turn_after", "en", n=n).startswith(told)


@each_row("value", ["007", "1,2", "1e5", "$x", "{n}", "a\nb", "<b>", "\u2068x\u2069", ""])
def test_a_value_is_put_in_as_it_is(value: str) -> None:
    assert value in message("trouble.corrupt", "en", path=value)


def test_a_text_that_there_is_not_is_an_error() -> None:
    assert not has_message("no.such")
    with pytest.raises(KeyError, match=r"no\.such"):
        message("no.such", "en")
    with pytest.raises(KeyError):
        message("", "zh")
