"""Settings of questions and reports, and the limits of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings

from research.core.bilingual import Text
from research.core.settings.declaration import SECTION_CONFIG, FormField, ValueKind, Variable

REPORTS_FOLDER = "query_engine_streamlit_reports"  # default folder of reports in the data folder


def _parse_source_names(value: str) -> str:
    """Normalise a comma-separated list of source names. `load_settings` checks that there are such sources."""
    names = (part.strip() for part in value.lower().split(","))
    return ",".join(dict.fromkeys(filter(None, names)))


def _parse_folder(value: object) -> object:
    """Parse a folder, which need not exist yet; "" is none."""
    if not isinstance(value, str):
        return value
    try:
        return Path(value).expanduser() if value else None
    except RuntimeError as error:  # ~ of a user without a home folder
        raise ValueError(f"is {value!r}: {error} Correct it or remove it.") from error


SourceNames = Annotated[str, AfterValidator(_parse_source_names), ValueKind("sources")]


class RunSettings(BaseSettings):
    """Questions and reports."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Questions and reports"
    section_note: ClassVar = ""

    queries: Annotated[
        int,
        Field(ge=1, le=10),
        Variable(
            "NUMBER_OF_INITIAL_QUERIES",
            "Queries per round and source, at most. Once set, [clients of the "
            "graph](deployment.md#asking-the-graph) get no more.",
            form=FormField("question", Text("Queries per round", "每轮查询数")),
        ),
    ] = 3
    loops: Annotated[
        int,
        Field(ge=0, le=10),
        Variable(
            "MAX_RESEARCH_LOOPS",
            "Rounds of search, including the first; 0 searches nothing. Once set, clients of the graph get no more.",
            form=FormField("question", Text("Search rounds", "搜索轮数")),
        ),
    ] = 2
    default_sources: Annotated[
        SourceNames,
        Variable(
            "SIGHTLINE_SOURCES",
            "Where to look for a question that names no sources; separate several with commas.",
            default_text="all available",
            values_text="`web`, `news`, `places`, `database`, `library`, or one that an [installed package](adding-a-source.md) or an [MCP server](mcp.md) brings",
            form=FormField("question", Text("Sources (none selected: all available)", "来源（不选：所有可用来源）")),
        ),
    ] = ""
    mcp_config: Annotated[
        str,
        Variable(
            "SIGHTLINE_MCP_CONFIG",
            "Which [MCP servers](mcp.md) are sources; `off`: none, whatever the file says.",
            default_text="`mcp.json` in the data folder",
            values_text="file, `off`",
        ),
    ] = ""
    sections: Annotated[
        int,
        Field(ge=1, le=12),
        Variable(
            "SIGHTLINE_REPORT_SECTIONS",
            "Sections of a news report, at most.",
            form=FormField("report", Text("Sections", "章节数")),
        ),
    ] = 5
    reflections: Annotated[
        int,
        Field(ge=0, le=10),
        Variable(
            "MAX_REFLECTIONS",
            "How many times each section of a report is reviewed and deepened.",
            form=FormField("report", Text("Reflections per section", "每节反思轮数")),
        ),
    ] = 2
    report_sources: Annotated[
        SourceNames,
        Variable(
            "SIGHTLINE_REPORT_SOURCES",
            "Where to look for a news report.",
            values_text="as for `SIGHTLINE_SOURCES`",
            form=FormField("report", Text("Sources (none selected: all available)", "来源（不选：所有可用来源）")),
        ),
    ] = ""
    output_dir: Annotated[
        Path | None,
        BeforeValidator(_parse_folder),
        ValueKind("folder"),
        Variable(
            "OUTPUT_DIR",
            "Where every finished news report is saved, as `deep_search_report_{topic}_{time}.md`; a relative "
            "path lies in the data folder. With a login, everyone has a folder of their own in it. Set to "
            "nothing (`OUTPUT_DIR=`), reports are saved only on request.",
            values_text="folder",
            is_blank_value=True,
        ),
    ] = Path(REPORTS_FOLDER)
    save_states: Annotated[
        bool,
        Variable(
            "SAVE_INTERMEDIATE_STATES",
            "While a report is being made, save its state beside it as `state_{topic}_{time}.json`, to resume "
            "from with `load`, wherever reports are saved.",
        ),
    ] = True
    export_pages: Annotated[
        int,
        Field(ge=0, le=100),
        Variable(
            "SIGHTLINE_EXPORT_PAGES",
            "Pages of cited PDF files and pictures of the library that a report in HTML shows, with the cited words "
            "marked, at most; 0 shows none. A page adds 50 to 500 KB.",
            form=FormField(
                "exports",
                Text("Pages of cited PDF files in HTML reports, at most", "HTML 报告中显示所引 PDF 的页面，最多"),
                Text(
                    "A page adds 50 to 500 KB to the file; 0 shows none.", "每页使文件增大 50 至 500 KB；0 为不显示。"
                ),
            ),
        ),
    ] = 0
    approve_plan: Annotated[
        bool,
        Variable(
            "SIGHTLINE_APPROVE_PLAN",
            "`on`: a run waits for its plan to be approved before it searches.",
            form=FormField("question", Text("Wait for me to approve the plan", "搜索前先由我批准计划")),
        ),
    ] = False
    clarify: Annotated[
        bool,
        Variable(
            "SIGHTLINE_CLARIFY",
            "On the pages, a model may ask back once, before anything is searched, if the question can be "
            "meant in different ways.",
            form=FormField(
                "question",
                Text("Ask me once when a question is ambiguous (needs a model)", "问题有歧义时先问我一次（需要模型）"),
            ),
        ),
    ] = True


class LimitSettings(BaseSettings):
    """Limits of a run; 0 is no limit."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Limits of a run"
    section_note: ClassVar = "0 is no limit."

    max_searches: Annotated[
        int,
        Field(ge=0, le=10_000),
        Variable("SIGHTLINE_MAX_SEARCHES", "Searches.", form=FormField("limits", Text("Searches", "搜索次数"))),
    ] = 0
    max_tokens: Annotated[
        int,
        Field(ge=0, le=1_000_000_000),
        Variable(
            "SIGHTLINE_MAX_TOKENS",
            "Tokens; at four fifths, the run stops searching and writes.",
            form=FormField("limits", Text("Tokens", "token 数"), step=1_000),
        ),
    ] = 0
    max_cost: Annotated[
        float,
        Field(ge=0, le=10_000),
        Variable(
            "SIGHTLINE_MAX_COST",
            "Estimated US dollars, in the same way; a model without a price counts as nothing.",
            form=FormField("limits", Text("Cost (US dollars, estimate)", "费用（美元，估算）"), step=0.1),
        ),
    ] = 0.0
    max_seconds: Annotated[
        float,
        Field(ge=0, le=86_400),
        Variable(
            "SIGHTLINE_MAX_SECONDS",
            "Working time, in the same way; pauses do not count.",
            unit="s",
            form=FormField("limits", Text("Seconds", "用时（秒）"), step=10),
        ),
    ] = 0.0
