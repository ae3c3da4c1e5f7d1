"""What leaves this machine, as it is set up now."""

from __future__ import annotations

from pages.shared.login import owner
from pages.shared.safe import plain
from pages.shared.words import source_name, t
from research import application


def told() -> str:
    """A list of who is sent what, as Markdown."""
    lines = [*_services(), *_browser()]
    return "\n".join(lines)


def _services() -> list[str]:
    """What the server sends to others."""
    services, ready = application.services(owner=owner()), application.readiness(owner=owner())
    settings, lines = services.settings, []
    live = {name for name, state in ready.items() if state.state == "live"}
    if models := _models():
        lines.append(t("leaves.models", names=_listed(models)))
    if "web" in live:
        lines.append(t("leaves.web", names=_named(ready["web"].detail)))
        if settings.pages_per_search:
            lines.append(t("leaves.pages"))
    if "news" in live:
        lines.append(t("leaves.news", names=_named(ready["news"].detail)))
    if "wikidata" in live:
        lines.append(t("leaves.wikidata"))
    if "papers" in live:
        lines.append(t("leaves.papers", names=_named(ready["papers"].detail)))
    maps = ready["places"].detail.split(", ") if "places" in live else []
    if "amap" in maps:
        lines.append(t("leaves.places"))
    if "osm" in maps:
        lines.append(t("leaves.osm", when="abroad" if "amap" in maps else "always"))
    for name, source in application.described().items():
        if name in live and source.foreign and not source.local:
            lines.append(t("leaves.source", name=plain(source_name(name))))
    lines = lines or [t("leaves.none")]
    if settings.runs_url:
        lines.append(t("leaves.engine"))
    if settings.traces_url:
        lines.append(t("leaves.traces"))
    return lines


def _browser() -> list[str]:
    """What the visitor's own browser asks others for."""
    tiles = (
        [t("leaves.tiles")]
        if application.services(owner=owner()).settings.map_tiles != "off"
        else []
    )
    news = (
        [t("leaves.pictures")]
        if application.readiness(owner=owner())["news"].state == "live"
        else []
    )
    return tiles + news


def _models() -> list[str]:
    """The models that can be asked."""
    models = application.services(owner=owner()).models
    if models is None:
        return []
    return list(dict.fromkeys(model for _, _, model, lacks in models.table() if not lacks))


def _named(providers: str) -> str:
    """The names of those who search, as a reader knows them."""
    return _listed([source_name(name) for name in providers.split(", ")])


def _listed(names: list[str]) -> str:
    return t("mark.list").join(map(plain, names))
