"""What a model has written, without what is no part of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from research.models.lenient_json import exact_values, loose_values
from research.models.schema_fit import fit

_M = TypeVar("_M", bound=BaseModel)

# The tags between which local models write their thoughts. One between backticks is spoken of.
_OPENS = ("<think>", "<thinking>", "[think]", "◁think▷")
_OPEN = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, _OPENS))})(?!`)", re.I)
_CLOSE = re.compile(r"(?<!`)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)\s*", re.I)

# Thoughts within a text: words directly between the tags, none of them between backticks.
_INNER = re.compile(
    rf"(?<!`)(?:{'|'.join(map(re.escape, _OPENS))})(?=\n|[^\s`])(?:(?!</?think|\[/?think).){{8,}}?"
    r"(?<=\S|\n)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)",
    re.S | re.I,
)
# A whole answer between tags, and what templates put at its end.
_WRAPPED = re.compile(r"\s*<(answer|response|final|output)>(?=\S|\n)(.*)", re.S | re.I)
_TOKENS = (
    "<|return|>", "<|end|>", "<|call|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
    "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</s>",
)  # fmt: skip
_MOST = 5  # of them
# Harmony, in which some models write: https://developers.openai.com/cookbook/articles/openai-harmony
_HARMONY = re.compile(r"\s*(?:(?:<\|start\|>)?assistant\s*)?<\|(?:channel|start|message)\|>")
_FINAL = re.compile(r"(?<!`)<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_NEXT = re.compile(r"<\|(?:start|end|return|call|channel|message)\|>")
_BARE_FINAL = re.compile(r"\s*analysis(?=[^a-z ]).*?[^\w\s]\s*assistantfinal(?=[^a-z])\s*", re.S)
_REPEATED = 20  # characters; shorter chunks may be alike by chance


class Unfit(ValueError):
    """A text without the object that was asked for; it says why."""


def spoken(text: str) -> str:
    """A text, or as much of one as there is yet, without the thoughts before it. Some templates open
    them themselves, so that only their end is heard: all up to it goes. Thoughts in the middle of it go
    once they have ended, and so do the tokens and tags of a template around it.
    """
    text = _answered(_channelled(sound(text)))
    return _unwrapped(_INNER.sub("", text) if _INNER.search(text) else text)


def _answered(text: str) -> str:
    while True:
        opened, closed = _begins(text), _CLOSE.search(text)
        if closed is None or not (opened or _lone(text, closed)):
            return "" if opened else text
        text = text[closed.end() :]
        if not (_begins(text) or _CLOSE.match(text)):
            return text


def _channelled(text: str) -> str:
    """The final channel of a text in Harmony; "" while it has not begun. Other texts as they are."""
    if finals := list(_FINAL.finditer(text)):
        return _NEXT.split(text[finals[-1].end() :], 1)[0]
    if _HARMONY.match(text):
        return ""
    bare = _BARE_FINAL.match(text)  # the same without its tokens
    return text[bare.end() :] if bare else text


def _unwrapped(text: str) -> str:
    """A text without the tokens of a template at its end, and without one tag around all of it."""
    for _ in range(_MOST):
        bare = text.rstrip()
        token = next((token for token in _TOKENS if bare.endswith(token)), "")
        text = bare.removesuffix(token).rstrip() if token else text
    found = _WRAPPED.match(text)
    if not found:
        return text
    inner, tag, rest = re.split(rf"(</{found[1]}>)|\Z", found[2], maxsplit=1, flags=re.I)
    return text if rest.strip() else inner.strip() if tag else inner.lstrip()


def joined(chunks: Sequence[str]) -> str:
    """Return the text of a stream. Chunks that each repeat all before them, and a last one that repeats
    the whole, count once."""
    told = [chunk for chunk in chunks if chunk]
    whole = "".join(told)
    if len(told) < 2 or len(told[-1]) < _REPEATED:
        return whole
    before = whole[: -len(told[-1])]
    grows = len(told[-1]) > len(told[0])
    if grows and all(later.startswith(earlier) for earlier, later in pairwise(told)):
        return told[-1]
    if len(before.strip()) >= _REPEATED and told[-1].lstrip().startswith(before.strip()):
        return told[-1]
    if told[-1].strip() == spoken(before).strip():
        return before
    return whole


def _begins(text: str) -> bool:
    """Whether it begins with thoughts, or with what may become their tag."""
    start = text.lstrip()
    low = start[: max(map(len, _OPENS))].lower()
    return bool(_OPEN.match(start)) or any(low and tag.startswith(low) for tag in _OPENS)


def _lone(text: str, closed: re.Match[str]) -> bool:
    return not _OPEN.search(text, 0, closed.start())


def sound(text: str) -> str:
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


class _Fit(NamedTuple, Generic[_M]):
    """A value that fits a shape; `mended` if it did not as it was written, and what was left out of it."""

    value: _M
    mended: bool
    left_out: list[str]


def fitting(
    text: str,
    shape: type[_M],
    schema: Mapping[str, Any] | None = None,
    note: Callable[[str], None] = lambda place: None,
) -> _M:
    """Return the object in a text that fits a shape. Prose and fences may stand around it, as in "Sure!
    Here it is: ...", but of two that fit and differ none is chosen, and none that broke off is completed.

    One that fits as it is written comes first. Otherwise `schema` tells what is meant by what is
    written, and `note` gets the place of each part that has no one meaning and is left out.

    Raises:
        Unfit: there is not one such object.
    """
    problems: list[str] = []
    readers = (exact_values, loose_values)
    read = [list(_fits(values(text), shape, schema or {}, problems)) for values in readers]
    for mended in (False, True):
        for fits in read:
            chosen = [fit for fit in fits if fit.mended == mended]
            if any(fit.value != chosen[0].value for fit in chosen):
                raise Unfit("it has several JSON objects; one is wanted")
            if chosen:
                for place in chosen[0].left_out:
                    note(place)
                return chosen[0].value
    raise Unfit(problems[0] if problems else _unread(text, shape))


def _fits(
    values: Sequence[Any], shape: type[_M], schema: Mapping[str, Any], problems: list[str]
) -> Iterator[_Fit[_M]]:
    """The values that fit; what is wrong with the others is added to `problems`."""
    for value in values:
        left_out: list[str] = []
        meant = fit(value, schema, left_out.append)
        try:
            found = _validated(meant, shape, left_out)
            yield _Fit(found, bool(left_out) or meant != value, left_out)
        except ValidationError as error:
            problems.append(
                _problem(error) if meant == value else _unread(json.dumps(value), shape)
            )
        except RecursionError:
            problems.append("it is nested too deep")


def _validated(value: Any, shape: type[_M], left_out: list[str]) -> _M:
    """A value as a shape; items of its lists that do not fit are left out, unless all of a list are.

    Raises:
        ValidationError: it does not fit.
    """
    try:
        return shape.model_validate_json(sound(json.dumps(value, ensure_ascii=False)))
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
        left_out += [f"{name} {int(at) + 1}" for name, at in sorted(spoilt)]
        return shape.model_validate_json(sound(json.dumps(value | kept, ensure_ascii=False)))


def _unread(text: str, shape: type[_M]) -> str:
    """Why a text is not read as a shape."""
    try:
        shape.model_validate_json(text)
    except ValidationError as error:
        return _problem(error)
    return "it could not be read"


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
