"""Extraction of the answer from a model's output, without thoughts and template tokens."""

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

# Tags around the thoughts of local models. A tag in backticks is a mention.
_THOUGHT_TAGS = ("<think>", "<thinking>", "[think]", "◁think▷")
_THOUGHT_START = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, _THOUGHT_TAGS))})(?!`)", re.I)
_THOUGHT_END = re.compile(r"(?<!`)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)\s*", re.I)

# Thoughts within a text: words directly between the tags, not in backticks.
_INLINE_THOUGHTS = re.compile(
    rf"(?<!`)(?:{'|'.join(map(re.escape, _THOUGHT_TAGS))})(?=\n|[^\s`])(?:(?!</?think|\[/?think).){{8,}}?"
    r"(?<=\S|\n)(?:</think(?:ing)?>|\[/think\]|◁/think▷)(?!`)",
    re.S | re.I,
)
# A tag around the whole answer, and tokens that templates put at its end.
_ANSWER_TAG = re.compile(r"\s*<(answer|response|final|output)>(?=\S|\n)(.*)", re.S | re.I)
_TEMPLATE_TOKENS = (
    "<|return|>", "<|end|>", "<|call|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>",
    "<|endoftext|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "</s>",
)  # fmt: skip
_MAX_TEMPLATE_TOKENS = 5  # at most so many are removed
# Harmony format: https://developers.openai.com/cookbook/articles/openai-harmony
_HARMONY_START = re.compile(r"\s*(?:(?:<\|start\|>)?assistant\s*)?<\|(?:channel|start|message)\|>")
_FINAL_CHANNEL = re.compile(r"(?<!`)<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_HARMONY_TOKEN = re.compile(r"<\|(?:start|end|return|call|channel|message)\|>")
_UNMARKED_FINAL = re.compile(r"\s*analysis(?=[^a-z ]).*?[^\w\s]\s*assistantfinal(?=[^a-z])\s*", re.S)
_MIN_REPEATED_CHARS = 20  # characters; shorter chunks may be equal by chance


class OutputFormatError(ValueError):
    """A text without the requested object; the message is the reason."""


def clean_output(text: str) -> str:
    """Return a text, or the beginning of one, without thoughts and template tokens.

    Leading thoughts are removed; some templates omit the opening tag, so everything up to the
    closing tag goes. Thoughts in the middle are removed once they have ended, and so are the tokens
    and tags of a template around the text.
    """
    text = _strip_leading_thoughts(_final_channel(repair_unicode(text)))
    return _strip_template(_INLINE_THOUGHTS.sub("", text) if _INLINE_THOUGHTS.search(text) else text)


def _strip_leading_thoughts(text: str) -> str:
    while True:
        has_start, end_tag = _has_thought_start(text), _THOUGHT_END.search(text)
        if end_tag is None or not (has_start or _is_unopened(text, end_tag)):
            return "" if has_start else text
        text = text[end_tag.end() :]
        if not (_has_thought_start(text) or _THOUGHT_END.match(text)):
            return text


def _final_channel(text: str) -> str:
    """Return the final channel of a Harmony text, "" before it begins; other texts unchanged."""
    if finals := list(_FINAL_CHANNEL.finditer(text)):
        return _HARMONY_TOKEN.split(text[finals[-1].end() :], 1)[0]
    if _HARMONY_START.match(text):
        return ""
    match = _UNMARKED_FINAL.match(text)  # the same format without its tokens
    return text[match.end() :] if match else text


def _strip_template(text: str) -> str:
    """Remove template tokens at the end of a text, and one tag around all of it."""
    for _ in range(_MAX_TEMPLATE_TOKENS):
        stripped = text.rstrip()
        token = next((token for token in _TEMPLATE_TOKENS if stripped.endswith(token)), "")
        text = stripped.removesuffix(token).rstrip() if token else text
    match = _ANSWER_TAG.match(text)
    if not match:
        return text
    inner, tag, rest = re.split(rf"(</{match[1]}>)|\Z", match[2], maxsplit=1, flags=re.I)
    return text if rest.strip() else inner.strip() if tag else inner.lstrip()


def join_chunks(chunks: Sequence[str]) -> str:
    """Join the chunks of a stream. Chunks that each repeat all before them, and a last one that
    repeats the whole, count once."""
    nonempty = [chunk for chunk in chunks if chunk]
    whole = "".join(nonempty)
    if len(nonempty) < 2 or len(nonempty[-1]) < _MIN_REPEATED_CHARS:
        return whole
    before = whole[: -len(nonempty[-1])]
    is_growing = len(nonempty[-1]) > len(nonempty[0])
    if is_growing and all(later.startswith(earlier) for earlier, later in pairwise(nonempty)):
        return nonempty[-1]
    if len(before.strip()) >= _MIN_REPEATED_CHARS and nonempty[-1].lstrip().startswith(before.strip()):
        return nonempty[-1]
    if nonempty[-1].strip() == clean_output(before).strip():
        return before
    return whole


def _has_thought_start(text: str) -> bool:
    """Return whether a text begins with a thought tag, or with the beginning of one."""
    start = text.lstrip()
    beginning = start[: max(map(len, _THOUGHT_TAGS))].lower()
    return bool(_THOUGHT_START.match(start)) or any(beginning and tag.startswith(beginning) for tag in _THOUGHT_TAGS)


def _is_unopened(text: str, end_tag: re.Match[str]) -> bool:
    return not _THOUGHT_START.search(text, 0, end_tag.start())


def repair_unicode(text: str) -> str:
    """Remove a leading byte order mark and repair surrogates, which JSON can contain and nothing
    can store: pairs are joined, others become U+FFFD, and a high surrogate at the very end is
    dropped, since its other half may follow."""
    if text.isascii():
        return text
    if "\ud800" <= text[-1] <= "\udbff":
        text = text[:-1]
    text = text.removeprefix("\ufeff")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _ParsedValue(NamedTuple, Generic[_M]):
    """A valid value. `omitted` are the paths of the parts that were left out."""

    value: _M
    is_repaired: bool
    omitted: list[str]


def parse_object(
    text: str,
    output_type: type[_M],
    schema: Mapping[str, Any] | None = None,
    on_omission: Callable[[str], None] = lambda path: None,
) -> _M:
    """Return the object in a text that validates as `output_type`.

    Prose and fences may surround it, as in "Sure! Here it is: ...". Of two valid but different
    objects neither is chosen, and a truncated one is not completed. An object that is valid as
    written comes first; otherwise `schema` guides a repair, and `on_omission` gets the path of
    each ambiguous part that is left out.

    Raises:
        OutputFormatError: There is not exactly one such object.
    """
    problems: list[str] = []
    readers = (parse_strict, parse_lenient)
    parsed = [list(_parse_values(read(text), output_type, schema or {}, problems)) for read in readers]
    for is_repaired in (False, True):
        for candidates in parsed:
            matching = [candidate for candidate in candidates if candidate.is_repaired == is_repaired]
            if any(candidate.value != matching[0].value for candidate in matching):
                raise OutputFormatError("it has several JSON objects; one is wanted")
            if matching:
                for path in matching[0].omitted:
                    on_omission(path)
                return matching[0].value
    raise OutputFormatError(problems[0] if problems else _describe_mismatch(text, output_type))


def _parse_values(
    values: Sequence[Any], output_type: type[_M], schema: Mapping[str, Any], problems: list[str]
) -> Iterator[_ParsedValue[_M]]:
    """Yield the valid values; add the errors of the others to `problems`."""
    for value in values:
        omitted: list[str] = []
        coerced = coerce(value, schema, omitted.append)
        try:
            parsed = _validate(coerced, output_type, omitted)
            yield _ParsedValue(parsed, bool(omitted) or coerced != value, omitted)
        except ValidationError as error:
            problems.append(
                _first_problem(error) if coerced == value else _describe_mismatch(json.dumps(value), output_type)
            )
        except RecursionError:
            problems.append("it is nested too deep")


def _validate(value: Any, output_type: type[_M], omitted: list[str]) -> _M:
    """Validate a value; leave out invalid items of its lists, unless a list would lose all of them.

    Raises:
        ValidationError: The value is invalid otherwise.
    """
    try:
        return output_type.model_validate_json(repair_unicode(json.dumps(value, ensure_ascii=False)))
    except ValidationError as error:
        invalid_paths = {step["loc"][:2] for step in error.errors(include_url=False, include_input=False)}
        valid_items = {
            name: [item for index, item in enumerate(items) if (name, index) not in invalid_paths]
            for name, items in (value.items() if isinstance(value, dict) else ())
            if isinstance(items, list) and any(path[0] == name for path in invalid_paths)
        }
        are_list_items = all(len(path) == 2 and valid_items.get(str(path[0])) for path in invalid_paths)
        if not are_list_items:
            raise
        omitted += [f"{name} {int(index) + 1}" for name, index in sorted(invalid_paths)]
        return output_type.model_validate_json(repair_unicode(json.dumps(value | valid_items, ensure_ascii=False)))


def _describe_mismatch(text: str, output_type: type[_M]) -> str:
    """Return why a text is not valid."""
    try:
        output_type.model_validate_json(text)
    except ValidationError as error:
        return _first_problem(error)
    return "it could not be read"


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
