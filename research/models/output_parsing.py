"""What a model has written, without what is no part of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from research.models.lenient_json import parse_lenient, parse_strict
from research.models.schema_coercion import coerce

_M = TypeVar("_M", bound=BaseModel)

# The tags between which local models write their thoughts. One between backticks is spoken of.
_THOUGHT_TAGS = ("<think>", "<thinking>", "[think]", "◁think▷")
_THOUGHT_START = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, _THOUGHT_TAGS))})(?!`)", re.I)
_THOUGHT_END = re.compile(r"(?<!`)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)\s*", re.I)

# Thoughts within a text: words directly between the tags, none of them between backticks.
_INLINE_THOUGHTS = re.compile(
    rf"(?<!`)(?:{'|'.join(map(re.escape, _THOUGHT_TAGS))})(?=\n|[^\s`])(?:(?!</?think|\[/?think).){{8,}}?"
    r"(?<=\S|\n)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)",
    re.S | re.I,
)
# A whole answer between tags, and what templates put at its end.
_ANSWER_TAG = re.compile(r"\s*<(answer|response|final|output)>(?=\S|\n)(.*)", re.S | re.I)
_TEMPLATE_TOKENS = (
    "<|return|>", "<|end|>", "<|call|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
    "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</s>",
)  # fmt: skip
_MAX_TEMPLATE_TOKENS = 5  # of them
# Harmony, in which some models write: https://developers.openai.com/cookbook/articles/openai-harmony
_HARMONY_START = re.compile(r"\s*(?:(?:<\|start\|>)?assistant\s*)?<\|(?:channel|start|message)\|>")
_FINAL_CHANNEL = re.compile(r"(?<!`)<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_HARMONY_TOKEN = re.compile(r"<\|(?:start|end|return|call|channel|message)\|>")
_UNMARKED_FINAL = re.compile(r"\s*analysis(?=[^a-z ]).*?[^\w\s]\s*assistantfinal(?=[^a-z])\s*", re.S)
_MIN_REPEATED_CHARS = 20  # characters; shorter chunks may be alike by chance


class OutputFormatError(ValueError):
    """A text without the object that was asked for; it says why."""


def clean_output(text: str) -> str:
    """A text, or as much of one as there is yet, without the thoughts before it. Some templates open
    them themselves, so that only their end is heard: all up to it goes. Thoughts in the middle of it go
    once they have ended, and so do the tokens and tags of a template around it.
    """
    text = _strip_leading_thoughts(_final_channel(repair_unicode(text)))
    return _strip_template(_INLINE_THOUGHTS.sub("", text) if _INLINE_THOUGHTS.search(text) else text)


def _strip_leading_thoughts(text: str) -> str:
    while True:
        opened, closed = _has_thought_start(text), _THOUGHT_END.search(text)
        if closed is None or not (opened or _is_unopened(text, closed)):
            return "" if opened else text
        text = text[closed.end() :]
        if not (_has_thought_start(text) or _THOUGHT_END.match(text)):
            return text


def _final_channel(text: str) -> str:
    """The final channel of a text in Harmony; "" while it has not begun. Other texts as they are."""
    if finals := list(_FINAL_CHANNEL.finditer(text)):
        return _HARMONY_TOKEN.split(text[finals[-1].end() :], 1)[0]
    if _HARMONY_START.match(text):
        return ""
    bare = _UNMARKED_FINAL.match(text)  # the same without its tokens
    return text[bare.end() :] if bare else text


def _strip_template(text: str) -> str:
    """A text without the tokens of a template at its end, and without one tag around all of it."""
    for _ in range(_MAX_TEMPLATE_TOKENS):
        bare = text.rstrip()
        token = next((token for token in _TEMPLATE_TOKENS if bare.endswith(token)), "")
        text = bare.removesuffix(token).rstrip() if token else text
    found = _ANSWER_TAG.match(text)
    if not found:
        return text
    inner, tag, rest = re.split(rf"(</{found[1]}>)|\Z", found[2], maxsplit=1, flags=re.I)
    return text if rest.strip() else inner.strip() if tag else inner.lstrip()


def join_chunks(chunks: Sequence[str]) -> str:
    """Return the text of a stream. Chunks that each repeat all before them, and a last one that repeats
    the whole, count once."""
    told = [chunk for chunk in chunks if chunk]
    whole = "".join(told)
    if len(told) < 2 or len(told[-1]) < _MIN_REPEATED_CHARS:
        return whole
    before = whole[: -len(told[-1])]
    grows = len(told[-1]) > len(told[0])
    if grows and all(later.startswith(earlier) for earlier, later in pairwise(told)):
        return told[-1]
    if len(before.strip()) >= _MIN_REPEATED_CHARS and told[-1].lstrip().startswith(before.strip()):
        return told[-1]
    if told[-1].strip() == clean_output(before).strip():
        return before
    return whole


def _has_thought_start(text: str) -> bool:
    """Whether it begins with thoughts, or with what may become their tag."""
    start = text.lstrip()
    low = start[: max(map(len, _THOUGHT_TAGS))].lower()
    return bool(_THOUGHT_START.match(start)) or any(low and tag.startswith(low) for tag in _THOUGHT_TAGS)


def _is_unopened(text: str, end_tag: re.Match[str]) -> bool:
    return not _THOUGHT_START.search(text, 0, end_tag.start())


def repair_unicode(text: str) -> str:
    """Text without a byte order mark at its beginning, and without halves of surrogate pairs, which
    JSON can smuggle in and nothing can store: those that belong together are joined, others become
    U+FFFD, and one at the very end is waited for.
    """
    if text.isascii():
        return text
    if "\ud800" <= text[-1] <= "\udbff":
        text = text[:-1]
    text = text.removeprefix("\ufeff")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _ParsedValue(NamedTuple, Generic[_M]):
    """A value that fits a shape; `mended` if it did not as it was written, and what was left out of it."""

    value: _M
    is_repaired: bool
    omitted: list[str]


def parse_object(
    text: str,
    output_type: type[_M],
    schema: Mapping[str, Any] | None = None,
    on_omission: Callable[[str], None] = lambda place: None,
) -> _M:
    """Return the object in a text that fits a shape. Prose and fences may stand around it, as in "Sure!
    Here it is: ...", but of two that fit and differ none is chosen, and none that broke off is completed.

    One that fits as it is written comes first. Otherwise `schema` tells what is meant by what is
    written, and `note` gets the place of each part that has no one meaning and is left out.

    Raises:
        Unfit: there is not one such object.
    """
    problems: list[str] = []
    readers = (parse_strict, parse_lenient)
    read = [list(_parse_values(values(text), output_type, schema or {}, problems)) for values in readers]
    for mended in (False, True):
        for fits in read:
            chosen = [fit for fit in fits if fit.is_repaired == mended]
            if any(fit.value != chosen[0].value for fit in chosen):
                raise OutputFormatError("it has several JSON objects; one is wanted")
            if chosen:
                for place in chosen[0].omitted:
                    on_omission(place)
                return chosen[0].value
    raise OutputFormatError(problems[0] if problems else _describe_mismatch(text, output_type))


def _parse_values(
    values: Sequence[Any], output_type: type[_M], schema: Mapping[str, Any], problems: list[str]
) -> Iterator[_ParsedValue[_M]]:
    """The values that fit; what is wrong with the others is added to `problems`."""
    for value in values:
        left_out: list[str] = []
        meant = coerce(value, schema, left_out.append)
        try:
            found = _validate(meant, output_type, left_out)
            yield _ParsedValue(found, bool(left_out) or meant != value, left_out)
        except ValidationError as error:
            problems.append(
                _first_problem(error) if meant == value else _describe_mismatch(json.dumps(value), output_type)
            )
        except RecursionError:
            problems.append("it is nested too deep")


def _validate(value: Any, output_type: type[_M], omitted: list[str]) -> _M:
    """A value as a shape; items of its lists that do not fit are left out, unless all of a list are.

    Raises:
        ValidationError: it does not fit.
    """
    try:
        return output_type.model_validate_json(repair_unicode(json.dumps(value, ensure_ascii=False)))
    except ValidationError as error:
        spoilt = {step["loc"][:2] for step in error.errors(include_url=False, include_input=False)}
        kept = {
            name: [item for at, item in enumerate(items) if (name, at) not in spoilt]
            for name, items in (value.items() if isinstance(value, dict) else ())
            if isinstance(items, list) and any(place[0] == name for place in spoilt)
        }
        lists_alone = all(len(place) == 2 and kept.get(str(place[0])) for place in spoilt)
        if not lists_alone:
            raise
        omitted += [f"{name} {int(at) + 1}" for name, at in sorted(spoilt)]
        return output_type.model_validate_json(repair_unicode(json.dumps(value | kept, ensure_ascii=False)))


def _describe_mismatch(text: str, output_type: type[_M]) -> str:
    """Why a text is not read as a shape."""
    try:
        output_type.model_validate_json(text)
    except ValidationError as error:
        return _first_problem(error)
    return "it could not be read"


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
