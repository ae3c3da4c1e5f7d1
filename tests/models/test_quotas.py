"""Which quota of a service is used up, what could help, and when it may be asked again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.models.chat import Chat
from research.models.quotas import is_payment_refusal, parse_quota
from research.sources.web.gemini import GeminiSearch
from tests.fakes import RETRIEVED
from tests.models.conftest import PROMPT, Heard, Wire
from tests.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")
METRIC = "generativelanguage.googleapis.com/generate_content_free_tier_requests"


def body(message: str = "", *violations: Mapping[str, Any], delay: str = "") -> dict[str, Any]:
    details: list[dict[str, Any]] = [{"@type": "type.googleapis.com/google.rpc.Help", "links": []}]
    if violations:
        kind = "type.googleapis.com/google.rpc.QuotaFailure"
        details.insert(0, {"@type": kind, "violations": list(violations)})
    if delay:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    return {"error": {"code": 429, "message": message, "details": details}}


def limit(id: str, value: Any = "20") -> dict[str, Any]:
    return {"quotaMetric": METRIC, "quotaId": id, "quotaValue": value}


def informed(value: str) -> dict[str, Any]:
    details = [{"reason": "RATE_LIMIT_EXCEEDED", "metadata": INFO | {"quota_limit_value": value}}]
    return {"error": {"code": 429, "message": "Quota exceeded.", "details": details}}


PER_MINUTE = limit("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
PER_DAY = limit("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
TOKENS = limit("GenerateContentInputTokensPerModelPerMinute-FreeTier", "250000")
PAID = limit("GenerateRequestsPerDayPerProjectPerModel", "10000")
INFO = {
    "quota_metric": METRIC,
    "quota_limit": "GenerateContentRequestsPerMinutePerProjectPerRegion",
}
NOTHING = limit("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0")


@each_row(
    ("said", "hint", "after"),
    [
        (body("", PER_MINUTE, delay="7s"), "minute", 7),
        (body("", TOKENS, delay="0.5s"), "minute", 0.5),
        (body("", PER_MINUTE), "minute", None),
        (body("", PER_DAY, delay="31s"), "day", None),
        (body("", PAID), "day", None),
        (body("", PER_MINUTE, PER_DAY, delay="31s"), "day", None),
        (body("", NOTHING, delay="31s"), "billing", None),
        (body("", PER_MINUTE, limit("x", 0)), "billing", None),
        (body(f"Quota exceeded for metric: {METRIC}, limit: 0, model: m"), "billing", None),
        (body(f"Quota exceeded for metric: {METRIC}, limit: 0.", PER_DAY), "billing", None),
        (body(f"Quota exceeded for metric: {METRIC}, limit: 0.5"), "", None),
        (body("Quota exceeded: requests per day."), "day", None),
        (body("generate_requests_per_minute is used up", delay="9s"), "minute", 9),
        (body("Resource has been exhausted (e.g. check quota).", delay="9s"), "", 9),
        (body("Resource has been exhausted (e.g. check quota)."), "", None),
        ([body("", PER_DAY)], "day", None),
        (body("Read about requests per day.", PER_MINUTE, delay="7s"), "minute", 7),
        (informed("60"), "minute", None),
        (informed("0"), "billing", None),
        ({"error": {"details": [{"violations": [None, "x"]}, "y"], "message": 7}}, "", None),
        ({"error": "no"}, "", None),
        ([], "", None),
        (None, "", None),
    ],
)
async def test_a_quota_is_told_by_its_period_and_its_limit(said: Any, hint: str, after: float | None) -> None:
    found = parse_quota(said)
    assert (found.hint, found.retry_after_seconds) == (hint, after)


@each_row(
    ("said", "line"),
    [
        (
            body(f"You exceeded your quota.\n* Quota exceeded for metric: {METRIC}, limit: 20\nPlease retry."),
            f"Quota exceeded for metric: {METRIC}, limit: 20",
        ),
        (
            body("Over.\n* metric: a, limit: 1\n* metric: a, limit: 1\n* metric: b, limit: 2\n"),
            "metric: a, limit: 1; metric: b, limit: 2",
        ),
        (
            body("You exceeded your quota.", PER_DAY),
            f"Quota exceeded for metric: {METRIC}, limit: 20 (GenerateRequestsPerDayPerProjectPerModel-FreeTier)",
        ),
        (body("", {"quotaId": "Searches"}), "Quota exceeded for metric: Searches"),
        (body("You exceeded your quota."), ""),
    ],
)  # fmt: skip
async def test_the_line_that_names_a_quota_and_its_limit_is_kept(said: Any, line: str) -> None:
    assert parse_quota(said).description == line


def coded(message: str, kind: str = "", code: str = "") -> dict[str, Any]:
    """An error as OpenAI's library hands it on: without what stands around it."""
    return {"message": message, "type": kind, "param": None, "code": code}


@each_row(
    ("said", "hint"),
    [
        (coded("You exceeded your current quota, please check your plan and billing details.",
               "insufficient_quota", "insufficient_quota"), "billing"),
        (coded("You exceeded your current quota, please check your plan and billing details. For details, "
               "see: https://help.aliyun.com/zh/model-studio/error-code#token-limit",
               "insufficient_quota", "insufficient_quota"), "minute"),
        (coded("Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200."), "day"),
        (coded("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000."), "minute"),
        (coded("Rate limit exceeded: free-models-per-day"), "day"),
        (coded("Your account org-1 is suspended, please check your plan and billing details",
               "exceeded_current_quota_error"), "billing"),
        (coded("Your account org-1 request reached max organization RPM: 3, please try again after 1 "
               "seconds", "rate_limit_reached_error"), "minute"),
        (coded("Your account org-1 request reached TPD rate limit, current:1500001, limit:1500000",
               "rate_limit_reached_error"), "day"),
        (coded("您的账户已欠费，请充值后重试。", code="1113"), "billing"),
        (coded("余额不足或无可用资源包,请充值。", code="1113"), "billing"),
        (coded("该 API 已达今日调用次数限额", code="1304"), "day"),
        (coded("您当前使用该API的并发数过高，请降低并发", code="1302"), ""),
        ({"error": "too many requests"}, ""),
    ],
)  # fmt: skip
async def test_a_quota_is_told_by_the_words_of_a_service_that_has_no_fields_for_it(said: Any, hint: str) -> None:
    assert parse_quota(said).hint == hint


@each_row(
    ("said", "is_for_money"),
    [
        ({"type": "error", "error": {
            "type": "invalid_request_error",
            "message": "Your credit balance is too low to access the Anthropic API."}}, True),
        (coded("Access denied, please make sure your account is in good standing.", code="Arrearage"), True),
        (coded("prompt is too long: 12000 tokens > 8192 maximum", "invalid_request_error"), False),
        (coded("Invalid value for balance_mode", "invalid_request_error"), False),
    ],
)  # fmt: skip
async def test_a_refusal_for_want_of_money_is_known_whatever_its_status(said: Any, is_for_money: bool) -> None:
    assert is_payment_refusal(said) is is_for_money


@pytest.mark.parametrize("way", ["search", "plain"])
@pytest.mark.parametrize(
    ("fault", "hint", "calls", "told"),
    [
        ("429:0.05", "minute", 2, ", limit: 20, model: "),
        ("429day:0.05", "day", 1, ", limit: 500, model: "),
        ("429free:0.05", "billing", 1, ", limit: 0, model: "),
    ],
)
async def test_only_what_is_free_again_soon_is_asked_for_again(
    gemini: Wire, way: str, fault: str, hint: str, calls: int, told: str
) -> None:
    gemini.server.fail("any", fault)
    clients = gemini.clients(WEB_SEARCH_MODEL=f"{way}-{hint}")
    with pytest.raises(ServiceError) as caught:
        if way == "search":
            await GeminiSearch(clients, lambda: RETRIEVED).search("tower", Heard())
        else:
            spec = GeminiSearch(clients, lambda: RETRIEVED).spec
            await Chat(spec, clients).ask_text(PROMPT, "write", Heard())
    assert (caught.value.reason, caught.value.hint) == ("quota", hint)
    assert METRIC + told in caught.value.message
    assert gemini.server.calls() == calls


async def test_a_search_that_is_not_asked_for_during_a_pause_says_why_there_is_one(
    gemini: Wire,
) -> None:
    gemini.server.fail("search", "429:60")
    search = GeminiSearch(gemini.clients(WEB_SEARCH_MODEL="paused"), lambda: RETRIEVED)
    for _ in range(2):
        with pytest.raises(ServiceError) as caught:
            await search.search("tower", Heard())
        assert (caught.value.reason, caught.value.hint) == ("quota", "minute")
        assert METRIC + ", limit: 20" in caught.value.message
        assert "possible again in" in caught.value.message
    assert gemini.server.calls() == 1


async def test_a_search_that_is_refused_without_a_word_may_lack_billing(gemini: Wire) -> None:
    gemini.server.fail("search", "429bare")
    search = GeminiSearch(gemini.clients(WEB_SEARCH_MODEL="free"), lambda: RETRIEVED)
    with pytest.raises(ServiceError) as caught:
        await search.search("tower", Heard())
    assert (caught.value.reason, caught.value.hint) == ("quota", "billing")
