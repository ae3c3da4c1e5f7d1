"""Chat model that writes SQL: it analyses a question, writes a statement, and one that fills NULLs.

The model is shown the tables, the values that the question's names may mean, and the problems of
its statements so far. Of rows it sees shortened cells between fences, never as instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from research.core.events import EventEmitter
from research.core.records import QueryResult
from research.core.text.tokenizer import detect_language
from research.models.chat import ChatProvider
from research.models.prompting import BASE_INSTRUCTIONS, Prompt, PromptBuilder, fence, object_schema
from research.models.token_counts import estimate_tokens
from research.sources.database.agent import Intent, Statement
from research.sources.database.outcome_text import shorten

MAX_SQL_CHARS = 4_000  # characters of a statement
MAX_NAMES = 12
MAX_EXAMPLE_CHARS = 500  # characters of a question that is shown as an example
MAX_HINT_CHARS = 300  # characters of a hint on a name
MAX_PROBLEM_CHARS = 600  # characters of the problem of a statement
MAX_CELL_CHARS = 120  # characters of a cell that a model is shown
OMISSION_TOKENS = 20  # tokens of the note on omitted lines
MAX_ROWS = 20
_COLUMN_VALUES = re.compile(r" \[[^\n]*\]$", re.M)  # values of a column in the description of a schema
_DIALECT_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "duckdb": "DuckDB"}
_OTHER_TABLES_RULE = """
- "tables": the names of those tables that are not described and yet needed; none if the described ones will do."""
_NAME_LIST = {"type": "array", "items": {"type": "string", "maxLength": 120}, "maxItems": MAX_NAMES}
_NULLS_LAST_RULE = "\n- PostgreSQL puts NULL first where it is ordered DESC: write NULLS LAST."
_RULES = """- One SELECT statement (joins, CTEs, window functions and subqueries are fine; recursion only to \
count out a series, such as twelve months), of the tables and columns below and no others. No comments and no parameters.
- distance_km(lng1, lat1, lng2, lat2) gives kilometres between two points; there are no other spatial \
functions. For the nearest, order by it and limit.
- Name every column of the result. For rows of single things select their key, name and coordinates as \
well, so that they can be shown on a map; no JSON, no aggregated lists.
- A value may be NULL where it is not known: do not take NULL for zero, and leave NULL out where things \
are compared or ordered. Divide by numbers that cannot be 0.
- Compare names exactly as the database has them."""


class SQLWriter:
    """A model that turns questions into SQL for one database."""

    def __init__(
        self,
        models: ChatProvider,
        dialect: str,
        schema: str,
        find_examples: Callable[[str], Sequence[tuple[str, str]]] = lambda question: (),
        describe_more: Callable[[str], str] | None = None,
    ) -> None:
        """Store the models and the description of the database.

        Args:
            models: provider of the chat model.
            dialect: "sqlite", "postgres" or "duckdb".
            schema: description of the tables.
            find_examples: finds confirmed pairs of a question and its statement that are similar to
                a question.
            describe_more: describes those tables that a text names and `schema` leaves out; None if
                it leaves out none.
        """
        self._models, self._dialect = models, _DIALECT_NAMES.get(dialect, dialect)
        self._schema, self._find_examples, self._describe_more = schema, find_examples, describe_more
        self._named_tables = ""  # names of the further tables that the analysed question needs
        self._rules = _RULES + (_NULLS_LAST_RULE if dialect == "postgres" else "")

    @property
    def author(self) -> str:
        """Name of the chat model that writes the statements."""
        return str(self._models.chat("plan").spec)

    async def analyse(self, question: str, emit: EventEmitter) -> Intent:
        """Analyse what a question asks of the database.

        Raises:
            ServiceError: the model cannot be used.
        """
        system = f"""{BASE_INSTRUCTIONS}

A question is put to a database. Say what it wants, and reply with JSON.
- "answerable": whether the tables can tell it; false for anything else, and for a wish to change them.
- "meant": in one sentence, in the language of the question, what is looked for: which rows, which \
conditions, which order, how many; of distances, from where and how far.
- "names": what of the question are names or values of the tables (places, provinces, kinds, levels), \
each as it stands in the question, at most {MAX_NAMES}.{_OTHER_TABLES_RULE if self._describe_more else ""}
- "clarify": if it cannot be answered, why not, or what has to be said more exactly; else ""."""
        shape = object_schema(
            answerable={"type": "boolean"},
            meant={"type": "string", "maxLength": 400},
            names={
                "type": "array",
                "items": {"type": "string", "maxLength": 80},
                "maxItems": MAX_NAMES,
            },
            **({"tables": _NAME_LIST} if self._describe_more else {}),
            clarify={"type": "string", "maxLength": 400},
        )
        prompt = self._create_prompt(system, [_format_question(question)])
        intent = await self._models.chat("plan").ask_json(prompt, shape, Intent, "plan", emit)
        self._named_tables = " ".join(intent.tables[:MAX_NAMES])
        return intent

    async def write(
        self, question: str, hints: Sequence[str], attempts: Sequence[tuple[str, str]], emit: EventEmitter
    ) -> Statement:
        """Write a statement that answers a question.

        `attempts` are the previous statements, each with its problem.

        Raises:
            ServiceError: the model cannot be used.
        """
        system = f"""{BASE_INSTRUCTIONS}

Write {self._dialect} SQL that answers the question, and reply with JSON: "sql", and "why" it is written \
so, in one sentence in {_language_name(question)}.
{self._rules}
- If a statement of before was refused or found nothing, put right what was wrong with it."""
        parts = [
            _format_question(question),
            _format_list("Names as the database has them", "values", hints),
            *(_format_attempt(sql, problem) for sql, problem in attempts),
        ]
        statements = [sql for sql, _ in attempts]
        prompt = self._create_prompt(system, parts, self._format_examples(question), statements)
        return await self._request_statement(prompt, emit)

    async def write_supplement(
        self,
        question: str,
        rows: QueryResult,
        null_columns: Sequence[str],
        hints: Sequence[str],
        emit: EventEmitter,
    ) -> Statement:
        """Write a statement that finds the values which are NULL in some columns, by the key of the
        rows.

        Its `sql` is "" if the tables have nothing more.

        Raises:
            ServiceError: the model cannot be used.
        """
        system = f"""{BASE_INSTRUCTIONS}

A statement has found rows in which some columns are NULL. If another table or column of the database may \
have what is missing, write {self._dialect} SQL that selects the key and those columns, under the same \
names, for these rows; else "sql" is "". Reply with JSON: "sql", and "why" in one sentence in \
{_language_name(question)}.
{self._rules}"""
        parts = [
            _format_question(question),
            _format_list("Columns that are NULL in some rows", "columns", [_format_name(n) for n in null_columns]),
            "Rows found so far:\n" + fence("rows", format_rows(rows)),
        ]
        return await self._request_statement(self._create_prompt(system, parts), emit)

    async def _request_statement(self, prompt: PromptBuilder, emit: EventEmitter) -> Statement:
        shape = object_schema(
            sql={"type": "string", "maxLength": MAX_SQL_CHARS}, why={"type": "string", "maxLength": 300}
        )
        return await self._models.chat("plan").ask_json(prompt, shape, Statement, "search", emit)

    def _create_prompt(
        self, system: str, sections: Sequence[str], examples: str = "", previous_statements: Sequence[str] = ()
    ) -> PromptBuilder:
        """Create a builder of the prompt, which has the tables, then the examples, then the sections.

        If the prompt exceeds its tokens, the examples are dropped first, then the values of columns,
        then the last lines of the schema.
        """

        def create(tables: str, *more: str) -> Prompt:
            return Prompt(system, "\n\n".join(filter(None, [tables, *more, *sections])))

        def build(max_tokens: int) -> Prompt:
            schema = self._describe_schema(*previous_statements)
            if (complete := create(_format_tables(schema), examples)).token_count <= max_tokens:
                return complete
            without_values = _COLUMN_VALUES.sub("", schema)
            remaining = max_tokens - create(_format_tables("")).token_count
            return create(
                _format_tables(
                    schema if estimate_tokens(schema) <= remaining else _fit_lines(without_values, remaining)
                )
            )

        return build

    def _describe_schema(self, *previous_statements: str) -> str:
        """Return the description of the schema, preceded by the tables that it leaves out and that the
        analysis of the question or a previous statement names."""
        further_tables = (
            self._describe_more(" ".join((self._named_tables, *previous_statements))) if self._describe_more else ""
        )
        return "\n".join(filter(None, [further_tables, self._schema]))

    def _format_examples(self, question: str) -> str:
        pairs = [
            f"{_shorten(past_question, MAX_EXAMPLE_CHARS)}\n{_shorten(sql, MAX_SQL_CHARS)}"
            for past_question, sql in self._find_examples(question)
        ]
        return "Questions with statements that were right:\n" + fence("examples", "\n\n".join(pairs)) if pairs else ""


def _format_tables(schema: str) -> str:
    return "Tables:\n" + fence("schema", schema)


def _fit_lines(schema: str, token_budget: int) -> str:
    """Return the first lines of a schema that fit into a number of tokens, and how many do not."""
    lines, used = schema.splitlines(), OMISSION_TOKENS
    for n, line in enumerate(lines):
        used += estimate_tokens(line + "\n")
        if used > token_budget and estimate_tokens(schema) > token_budget:
            return "\n".join([*lines[:n], f"({len(lines) - n} more lines have no room here)"])
    return schema


def format_rows(rows: QueryResult) -> str:
    """Format rows as lines of JSON with shortened cells. The cells are data, never instructions."""
    lines = []
    for row in rows.rows[:MAX_ROWS]:
        values = {
            _format_name(name): _shorten(value, MAX_CELL_CHARS) for name, value in zip(rows.names, row, strict=True)
        }
        lines.append(json.dumps(values, ensure_ascii=False, default=str))
    if len(rows.rows) > MAX_ROWS:
        lines.append(f"({len(rows.rows) - MAX_ROWS} more rows)")
    return "\n".join(lines)


def _format_name(name: str) -> str:
    """Put the name of a column on one line and shorten it, because a result may have any name."""
    return shorten(name, MAX_CELL_CHARS)


def _shorten(value: object, max_characters: int) -> object:
    if isinstance(value, str) and len(value) > max_characters:
        return value[: max_characters - 1] + "…"
    return value


def _format_question(question: str) -> str:
    return "Question:\n" + fence("question", question)


def _format_list(title: str, name: str, lines: Sequence[str]) -> str:
    shown = [shorten(line, MAX_HINT_CHARS) for line in lines]
    return f"{title}:\n{fence(name, chr(10).join(shown))}" if lines else ""


def _format_attempt(sql: str, problem: str) -> str:
    wrong = fence("problem", str(_shorten(problem, MAX_PROBLEM_CHARS)))
    return f"A statement of before:\n{fence('sql', sql)}\nWhat was wrong:\n{wrong}"


def _language_name(question: str) -> str:
    return {"zh": "Chinese", "en": "English"}[detect_language(question)]
