"""Client of the web search services in `data/searches.toml`, which need a key and return results as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research.core.errors import ServiceError, error_from_status, register_secrets
from research.core.events import EventEmitter, UsageRecorded
from research.core.json_values import keep_objects
from research.core.records import Readiness
from research.core.text.publication_dates import parse_publication_day
from research.http.lazy_client import LazyClient
from research.http.responses import convert_errors, parse_json_object
from research.http.sanitize import strip_html, tidy_text
from research.sources.base import configured_readiness
from research.sources.web.provider import SearchResult
from research.sources.web.results import build_result, make_evidence

if TYPE_CHECKING:
    from research.core.providers import SearchService

USER_AGENT = "Sightline/1.0"
MAX_QUERY_CHARS = 400  # smallest limit among the services
_ERROR_FIELDS = ("message", "errMsg", "error", "msg", "detail")  # may hold an error message


class JSONSearch:
    """Web provider for one of these services."""

    has_summary = False

    def __init__(
        self,
        service: SearchService,
        key: str,
        *,
        url: str = "",
        max_results: int = 8,
        timeout_seconds: float = 30.0,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        register_secrets([key])
        self._service, self._key, self._url = service, key, url or service.url
        self._max_results = min(max_results, service.max_results)
        self._timeout_seconds, self._clock = timeout_seconds, clock
        header_name, value_prefix = service.header
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json", header_name: value_prefix + key}
        # A redirect would leak the key.
        self._client = LazyClient(headers=headers, timeout=timeout_seconds, follow_redirects=False)

    @property
    def name(self) -> str:
        return self._service.name

    def readiness(self) -> Readiness:
        return configured_readiness(bool(self._key), self._service.key_setting)

    async def search(self, query: str, emit: EventEmitter) -> SearchResult:
        service = self._service
        if not self._key:
            raise ServiceError("no key", f"{service.title} needs {service.key_setting}", hint="key")
        retrieved, query = self._clock(), tidy_text(query)
        sent_query = query[:MAX_QUERY_CHARS]
        response = await self._request(sent_query)
        emit(UsageRecorded(stage="search", model=self.name, searches=1))
        items = (self._row_evidence(row, retrieved) for row in self._result_rows(response))
        return build_result(items, self._max_results, query, sent_query)

    async def close(self) -> None:
        await self._client.close()

    async def _request(self, query: str) -> dict[str, Any]:
        service = self._service
        fields = _fill_template(service.parameters, {"{query}": query, "{results}": self._max_results})
        request_options: dict[str, Any] = {"params": fields} if service.method == "GET" else {"json": fields}
        async with convert_errors(service.title, self._timeout_seconds):
            response = await self._client.open().request(service.method, self._url, **request_options)
        if response.status_code >= 300:
            raise error_from_status(response.status_code, service.title, response.headers)
        return parse_json_object(response.content, response, service.title)

    def _result_rows(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the result rows of a response.

        A missing list with an error message is a failure: some services answer 200 to an unknown
        key.

        Raises:
            ServiceError: the response has no list and gives a reason.
        """
        rows: Any = body
        for name in self._service.results_path.split("."):
            rows = rows.get(name) if isinstance(rows, dict) else None
        if rows is None and (message := _error_message(body)):
            raise ServiceError("refused", f"{self._service.title}: {message}")
        return keep_objects(rows)

    def _row_evidence(self, row: dict[str, Any], retrieved: datetime) -> Any:
        fields, clean_text = self._service.result_fields, strip_html if self._service.is_html else tidy_text
        texts = (_join_texts(row.get(name)) for name in fields.text)
        return make_evidence(
            row.get(fields.url),
            clean_text(row.get(fields.title)),
            clean_text(next(filter(None, texts), "")),
            retrieved=retrieved,
            published=parse_publication_day(row.get(fields.day)),
        )


def _fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, Mapping):
        return {name: _fill_template(value, values) for name, value in template.items()}
    return values.get(template, template) if isinstance(template, str) else template


def _join_texts(value: object) -> str:
    """Return a text, or the texts of a list joined by line breaks."""
    if isinstance(value, list):
        return "\n".join(text for text in value if isinstance(text, str))
    return value if isinstance(value, str) else ""


def _error_message(body: Mapping[str, Any]) -> str:
    for name in _ERROR_FIELDS:
        value = body.get(name)
        value = value.get("message") if isinstance(value, dict) else value
        if isinstance(value, str) and (text := tidy_text(value)) and text.lower() not in ("success", "ok"):
            return text[:300]
    return ""
