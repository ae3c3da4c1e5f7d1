"""News source: searches Tavily, the analyst's feeds or GDELT, whichever are configured."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.sources.news.feeds import FeedSearch
    from research.sources.news.gdelt import GDELT
    from research.sources.news.retriever import NewsRetriever
    from research.sources.news.tavily import TavilyNews

    settings, clock = dependencies.settings, dependencies.clock
    seconds = min(settings.search_timeout / 2, 30.0)
    return NewsRetriever(
        [
            TavilyNews(
                settings.tavily_key.get_secret_value(),
                base_url=settings.tavily_url,
                timeout_seconds=seconds,
                max_retry_after_seconds=settings.retry_wait,
                clock=clock,
            ),
            FeedSearch(settings.feed_addresses, timeout_seconds=min(settings.search_timeout / 4, 20.0), clock=clock),
            GDELT(
                is_enabled=settings.news_gdelt or settings.open_sources,
                base_url=settings.gdelt_url,
                timeout_seconds=seconds,
                max_retry_after_seconds=settings.retry_wait,
                clock=clock,
            ),
        ],
        timeout_seconds=settings.search_timeout,
        domain_statuses=settings.domain_statuses,
        clock=clock,
    )


SOURCE = Source(
    name="news",
    kind="news",
    prompt_phrase="news archives",
    build=_build_retriever,
    icon="newspaper",
    is_cacheable=True,
    is_preferred_for_reports=True,
    tool_descriptions={
        "basic_search_news": "recent news in general",
        "deep_search_news": "a thorough search with an overview; slower and dearer",
        "search_news_last_24_hours": "the last 24 hours only",
        "search_news_last_week": "the last week only",
        "search_images_for_news": "pictures of the event",
        "search_news_by_date": 'a stretch of days: give "start_date" and "end_date" as YYYY-MM-DD',
    },
    is_paid=True,
    setup_commands=("export TAVILY_API_KEY=YOUR_KEY", "export NEWS_GDELT=on"),
)
