"""Recognition of rate limits in the error messages of tools."""

from __future__ import annotations

import re

from research.core.errors import MAX_RETRY_AFTER_SECONDS, ServiceError

_SECONDS_BY_UNIT = {"ms": 0.001, "milli": 0.001, "毫": 0.001, "s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600}
_UNIT_PATTERN = (
    r"(?P<unit>ms|milli(?:second)?s?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|毫秒|秒钟?|分钟?|小时)"
)
_RATE_LIMIT = re.compile(
    r"(?i)(?:\A|http|status|code|error)\W{0,3}429\b|too[\s_]many[\s_](?:requests|calls|queries)|rate[\s_-]?limit|throttl|\bquota\b"
    r"|limit[\s_-](?:reached|exceeded|hit)|exceed\w*[^.\n]{0,30}\blimit|resource_exhausted"
    r"|请求过于频繁|(?:调用|访问|请求)(?:过于|太|次数|频率|过)|限流|限频|配额|额度|超出.{0,10}限制"
)
# Forms such as "try again in 10 s", "Retry-After: 10", "retryDelay": "3s", 10秒后重试.
_RETRY_AFTER = re.compile(
    rf"(?i)(?:re-?try|try(?:\s+again)?\s+(?:in|after)|wait|back\s?off|available|resets?)[^.\n\d]{{0,40}}(?<![\d.])(?P<n>\d+(?:\.\d+)?)\s*{_UNIT_PATTERN}(?![a-z])"
    rf"|(?:re-?try[\s_-]?(?:after|in|delay)|retryAfter)\W{{1,4}}(?P<bare>\d+(?:\.\d+)?)(?![\d.]*\s*[a-z])"
    rf"|(?P<zh>\d+(?:\.\d+)?)\s*(?P<zh_unit>毫秒|秒钟?|分钟?|小时)[之以]?后"
)


def parse_rate_limit(message: str) -> ServiceError | None:
    """Return a "quota" error if a message mentions a rate limit or a time to retry, else None."""
    retry_match = _RETRY_AFTER.search(message)
    if not retry_match and not _RATE_LIMIT.search(message):
        return None
    retry_after = None
    if retry_match:
        number = retry_match["n"] or retry_match["bare"] or retry_match["zh"]
        unit = (retry_match["unit"] or retry_match["zh_unit"] or "s").lower()
        scale = next(value for name, value in _SECONDS_BY_UNIT.items() if unit.startswith(name))
        retry_after = min(float(number) * scale, MAX_RETRY_AFTER_SECONDS)
    return ServiceError("quota", message, is_retryable=True, retry_after_seconds=retry_after)
