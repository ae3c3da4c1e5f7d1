"""Description of the data that leaves this machine under the current settings."""

from __future__ import annotations

from pages.shared.escaping import escape_markdown
from pages.shared.localization import join_source_names, source_name, t
from pages.shared.login import current_owner
from research import get_application, sources_by_name


def describe_data_flows() -> str:
    """Return a Markdown list of the services that receive data, with the data sent."""
    lines = [*_server_lines(), *_browser_lines()]
    return "\n".join(lines)


def _server_lines() -> list[str]:
    """List the data that the server sends to services."""
    services, ready = (
        get_application().services_for(current_owner()),
        get_application().readiness(owner=current_owner()),
    )
    settings, lines = services.settings, []
    live = {name for name, state in ready.items() if state.state == "live"}
    if models := _usable_models():
        lines.append(t("leaves.models", names=t("mark.list").join(map(escape_markdown, models))))
    if "web" in live:
        lines.append(t("leaves.web", names=join_source_names(ready["web"].detail)))
        if settings.pages_per_search:
            lines.append(t("leaves.pages"))
    if "news" in live:
        lines.append(t("leaves.news", names=join_source_names(ready["news"].detail)))
    if "wikidata" in live:
        lines.append(t("leaves.wikidata"))
    if "papers" in live:
        lines.append(t("leaves.papers", names=join_source_names(ready["papers"].detail)))
    maps = ready["places"].detail.split(", ") if "places" in live else []
    if "amap" in maps:
        lines.append(t("leaves.places"))
    if "osm" in maps:
        lines.append(t("leaves.osm", when="abroad" if "amap" in maps else "always"))
    for name, source in sources_by_name().items():
        if name in live and source.label and not source.is_local:
            lines.append(t("leaves.source", name=escape_markdown(source_name(name))))
    lines = lines or [t("leaves.none")]
    if settings.runs_url:
        lines.append(t("leaves.engine"))
    if settings.traces_url:
        lines.append(t("leaves.traces"))
    return lines


def _browser_lines() -> list[str]:
    """List what the visitor's browser requests from other hosts."""
    tiles = [t("leaves.tiles")] if get_application().services_for(current_owner()).settings.map_tiles != "off" else []
    news = [t("leaves.pictures")] if get_application().readiness(owner=current_owner())["news"].state == "live" else []
    return tiles + news


def _usable_models() -> list[str]:
    """Return the distinct models with complete settings."""
    models = get_application().services_for(current_owner()).models
    if models is None:
        return []
    return list(dict.fromkeys(model for _, _, model, missing in models.role_table() if not missing))
