"""News: whoever of Tavily, the analyst's feeds and GDELT is set up."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.news.feeds import Feeds
    from research.sources.news.gdelt import GDELT
    from research.sources.news.retriever import NewsRetriever
    from research.sources.news.tavily import TavilyNews

    settings, clock = supplies.settings, supplies.clock
    seconds = min(settings.search_timeout / 2, 30.0)
    return NewsRetriever(
        [
            TavilyNews(
                settings.tavily_key.get_secret_value(),
                base_url=settings.tavily_url,
                timeout=seconds,
                patience=settings.retry_wait,
                clock=clock,
            ),
            Feeds(settings.feeds, timeout=min(settings.search_timeout / 4, 20.0), clock=clock),
            GDELT(
                enabled=settings.news_gdelt == "on" or settings.opened,
                base_url=settings.gdelt_url,
                timeout=seconds,
                patience=settings.retry_wait,
                clock=clock,
            ),
        ],
        deadline=settings.search_timeout,
        domains=settings.verdicts,
        clock=clock,
    )


SOURCE = Source(
    name="news",
    kind="news",
    prompt="news archives",
    build=_build,
    icon="newspaper",
    cached=True,
    reports=True,
    tools={
        "basic_search_news": "recent news in general",
        "deep_search_news": "a thorough search with an overview; slower and dearer",
        "search_news_last_24_hours": "the last 24 hours only",
        "search_news_last_week": "the last week only",
        "search_images_for_news": "pictures of the event",
        "search_news_by_date": 'a stretch of days: give "start_date" and "end_date" as YYYY-MM-DD',
    },
    paid=True,
    adds=("export TAVILY_API_KEY=YOUR_KEY", "export NEWS_GDELT=on"),
)
