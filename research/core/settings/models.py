"""Settings of the chat models: keys, addresses, the model of each role, and the check of sentences."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings

from research.core.bilingual import Text
from research.core.settings.declaration import (
    LOWER_CASE,
    NO_KEY,
    SECTION_CONFIG,
    Address,
    FormField,
    Key,
    ModelName,
    Variable,
)

Role = Literal["plan", "reflect", "write", "search"]
ROLES: tuple[Role, ...] = ("plan", "reflect", "write", "search")
REPORT_MODEL = "QUERY_ENGINE_MODEL_NAME"  # setting of the model for reports
CHECK_MODEL = "CHECK_MODEL"  # setting of the model that judges sentences
MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS = 10_000_000, 2_048


def _parse_context_lengths(value: str) -> str:
    """Normalise context lengths: one for all models, or a comma-separated list of name=tokens."""
    lengths = []
    for part in filter(None, (part.strip() for part in value.split(","))):
        name, _, number = part.rpartition("=")
        name, number = name.strip().lower(), number.strip()
        if not number.isdecimal() or not MIN_CONTEXT_TOKENS <= int(number) <= MAX_CONTEXT_TOKENS:
            raise ValueError(
                f"is {value!r}; it must be a whole number of tokens from {MIN_CONTEXT_TOKENS} to "
                f"{MAX_CONTEXT_TOKENS}, or numbers of single models such as openai:qwen3-8b=32768, with commas "
                "between them. Correct it or remove it."
            )
        lengths.append(f"{name}={number}" if name else number)
    return ", ".join(lengths)


class ModelSettings(BaseSettings):
    """The chat models."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Models"
    section_note: ClassVar = (
        "A model is `provider:name`; without a provider it is a Gemini model. Without a Gemini key, roles that are "
        "not set share the model of those that are, so one setting is enough for a local model."
    )

    gemini_key: Annotated[
        Key,
        Variable(
            "GEMINI_API_KEY",
            "The Gemini key.",
            other_names=("GOOGLE_API_KEY",),
            form=FormField(
                "keys",
                Text("Gemini", "Gemini 密钥"),
                help=Text(
                    "Gemini models and Google Search (GEMINI_API_KEY). Create one in Google AI Studio "
                    "(aistudio.google.com) under “Get API key”; search needs a key with billing enabled.",
                    "Gemini 模型和 Google 搜索（GEMINI_API_KEY）。"
                    "在 Google AI Studio（aistudio.google.com）的“Get API key”处创建；搜索需要开通付费的密钥。",
                ),
            ),
        ),
    ] = NO_KEY
    gemini_url: Annotated[
        Address,
        Variable(
            "GOOGLE_GEMINI_BASE_URL",
            "Another address for the Gemini API, such as a relay. Requests go to `/v1beta` below it, also "
            "where it ends in a version itself.",
            default_text="Google's",
        ),
    ] = ""
    openai_key: Annotated[
        Key,
        Variable(
            "OPENAI_API_KEY",
            "The key for an OpenAI-compatible server; a local server needs none.",
            form=FormField(
                "keys",
                Text("OpenAI or a compatible service", "OpenAI 或兼容服务的密钥"),
                help=Text(
                    "OpenAI, or a compatible service whose address you enter below (OPENAI_API_KEY).",
                    "OpenAI，或在下方填写了地址的兼容服务（OPENAI_API_KEY）。",
                ),
            ),
        ),
    ] = NO_KEY
    openai_url: Annotated[
        Address,
        Variable(
            "OPENAI_BASE_URL",
            "Its address, for example `https://api.deepseek.com/v1` or `http://127.0.0.1:8000/v1`.",
            default_text="OpenAI's",
            form=FormField(
                "keys",
                Text("Compatible service address", "兼容服务的网址"),
                help=Text(
                    "The address of a compatible service, such as `https://llm.example.org/v1`. If you use your own "
                    "address, enter your own key too: the server's key is never sent there.",
                    "兼容服务的地址，例如 `https://llm.example.org/v1`。使用自己的地址时请同时填写自己的密钥：服务器的密钥不会发往该地址。",
                ),
            ),
        ),
    ] = ""
    ollama_url: Annotated[
        Address,
        Variable(
            "OLLAMA_BASE_URL",
            "Where Ollama listens.",
            default_text="`http://127.0.0.1:11434`",
            form=FormField(
                "keys",
                Text("Ollama address", "Ollama 的网址"),
                help=Text(
                    "The address of Ollama on this machine or your network, such as `http://127.0.0.1:11434`. It "
                    "needs no key.",
                    "本机或局域网中 Ollama 的网址，例如 `http://127.0.0.1:11434`。不需要密钥。",
                ),
            ),
        ),
    ] = ""
    ollama_context: Annotated[
        int,
        Field(ge=2_048, le=2_000_000),
        Variable(
            "OLLAMA_CONTEXT_LENGTH",
            "Context to request from Ollama, in tokens. Left to itself, Ollama silently truncates long prompts.",
        ),
    ] = 32_768
    context_length: Annotated[
        str,
        AfterValidator(_parse_context_lengths),
        Variable(
            "SIGHTLINE_CONTEXT_LENGTH",
            "Context length: one number for every model except Ollama's, or numbers for particular models by "
            "the beginning of their names, as in `openai:qwen3-8b=32768, gemini=500000`. What does not fit is "
            "left out, least useful first, and the answer says so.",
            default_text="[per model](../research/data/contexts.json)",
            values_text="tokens, 2,048 to 10,000,000",
        ),
    ] = ""
    plan_model: Annotated[
        ModelName,
        Variable(
            "QUERY_GENERATOR_MODEL",
            "Decides whether to search, and plans the queries.",
            default_text="`gemini-3.5-flash-lite`",
            form=FormField("models", Text("Writes the queries", "拟定查询")),
        ),
    ] = ""
    reflect_model: Annotated[
        ModelName,
        Variable(
            "REFLECTION_MODEL",
            "Judges what is missing after each round.",
            default_text="`gemini-3.5-flash-lite`",
            form=FormField("models", Text("Reflects", "反思")),
        ),
    ] = ""
    write_model: Annotated[
        ModelName,
        Variable(
            "ANSWER_MODEL",
            "Writes the answer.",
            default_text="`gemini-3.8-flash`",
            form=FormField("models", Text("Writes the answer", "撰写答案")),
        ),
    ] = ""
    search_model: Annotated[
        ModelName,
        Variable(
            "WEB_SEARCH_MODEL",
            "Searches with Google, or summarises another provider's results.",
            default_text="`gemini-3.8-flash`",
            form=FormField("models", Text("Searches the web", "搜索网络")),
        ),
    ] = ""
    report_model: Annotated[
        ModelName,
        Variable(
            REPORT_MODEL,
            "The model for news reports, from outline to tone, instead of the first three. A name without a "
            "provider belongs to an OpenAI-compatible server if either of the next two settings is set. "
            "Questions are not affected.",
        ),
    ] = ""
    report_url: Annotated[
        Address,
        Variable(
            "QUERY_ENGINE_BASE_URL",
            "The address of that server, for reports only; `OPENAI_*` are then not used for them.",
            default_text="OpenAI's",
        ),
    ] = ""
    report_key: Annotated[Key, Variable("QUERY_ENGINE_API_KEY", "Its key; a local server needs none.")] = NO_KEY
    check: Annotated[
        Literal["rules", "model"],
        LOWER_CASE,
        Variable(
            "SIGHTLINE_CHECK",
            "Who judges the sentences of an answer. With `model`, doubtful sentences also go to a model, then "
            "those supported by a small margin, smallest first: 12 per call, 96 at most, within the run's "
            "limits.",
            form=FormField(
                "models",
                Text("Who checks sentences", "由谁核对句子"),
                options={"rules": Text("Rules only", "仅规则"), "model": Text("Rules and a model", "规则和模型")},
            ),
        ),
    ] = "rules"
    check_model: Annotated[
        ModelName,
        Variable(
            CHECK_MODEL,
            "The model that checks and rewrites. `ollama:bespoke-minicheck` (made for English) gets one "
            "sentence per call and says Yes or No, without a quote: No withdraws a narrow support or confirms "
            "a doubt, Yes changes nothing. The reflection model then does the rewriting.",
            default_text="the reflection model",
            form=FormField("models", Text("Checks the sentences", "核对句子")),
        ),
    ] = ""
    repair: Annotated[
        Literal["off", "drop", "rewrite"],
        LOWER_CASE,
        Variable(
            "SIGHTLINE_REPAIR",
            "What happens to a model's sentences without support (no source, a different figure, or so ruled "
            "by the checking model): they stay (`off`), go (`drop`) or are rewritten (`rewrite`).",
            form=FormField(
                "models",
                Text("Sentences without support", "没有依据的句子"),
                options={
                    "off": Text("Mark", "标出"),
                    "drop": Text("Remove", "删去"),
                    "rewrite": Text("Rewrite", "改写"),
                },
            ),
        ),
    ] = "off"
    model_timeout: Annotated[
        float,
        Field(ge=0.05, le=900),
        Variable(
            "SIGHTLINE_MODEL_TIMEOUT", "Time limit for one call; a streamed answer gets five times as long.", unit="s"
        ),
    ] = 60.0
    model_attempts: Annotated[
        int,
        Field(ge=1, le=5),
        Variable(
            "SIGHTLINE_MODEL_ATTEMPTS",
            "Attempts at each call, where another one can help. A streamed answer that could not be read to "
            "its end is asked for again in one piece.",
        ),
    ] = 2
    retry_wait: Annotated[
        float,
        Field(ge=0, le=300),
        Variable(
            "SIGHTLINE_RETRY_WAIT",
            "Longest wait when a service asks for a pause, in seconds or until a date.",
            unit="s",
        ),
    ] = 30.0
    model_concurrency: Annotated[
        int, Field(ge=1, le=1_000), Variable("SIGHTLINE_MODEL_CONCURRENCY", "Calls to one provider at the same time.")
    ] = 200
    requests_per_minute: Annotated[
        int,
        Field(ge=0, le=100_000),
        Variable("SIGHTLINE_REQUESTS_PER_MINUTE", "Calls to one provider per minute; 0 is no limit."),
    ] = 0

    @property
    def context_lengths(self) -> dict[str, int]:
        """Configured context lengths in tokens by model name; "" applies to all others."""
        parts = (part.rpartition("=") for part in self.context_length.split(", ") if part)
        return {name: int(number) for name, _, number in parts}

    def model(self, role: Role) -> str:
        """Return the configured model of a role; "" if none is set."""
        return {
            "plan": self.plan_model,
            "reflect": self.reflect_model,
            "write": self.write_model,
            "search": self.search_model,
        }[role]
