"""Places and routes as files: GeoJSON, KML, CSV and a map in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import streamlit as st

from pages.shared import map_content
from pages.shared.escaping import to_single_line
from pages.shared.localization import LANGUAGE_TAGS, Language, create_translator, current_language, format_number, t
from pages.shared.paths import ASSETS_FOLDER
from pages.shared.place_text import widening_notes
from research import (
    RecordedPlace,
    Route,
    SearchArea,
    has_line_on_globe,
    is_on_globe,
    places_csv,
    places_geojson,
    places_kml,
)


def draw_downloads(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea],
    title: str,
    file_stem: str,
    *,
    key: str,
    routes: Sequence[Route] = (),
) -> None:
    """Draw download buttons for places and routes.

    `file_stem` is a generated file name without its suffix.
    """
    on_globe = [item for item in recorded_places if is_on_globe(item.place)]
    places = [item.place for item in on_globe]
    lines = [route for route in routes if has_line_on_globe(route)]
    language = current_language()
    files: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
        ("geojson", "application/geo+json", "data_object", lambda: places_geojson(places, routes=lines)),
        ("kml", "application/vnd.google-earth.kml+xml", "public", lambda: places_kml(places, title, routes=lines)),
        ("csv", "text/csv", "table", lambda: places_csv(places)),
        ("html", "text/html", "map", lambda: build_html_map(on_globe, search_areas, title, language, routes=lines)),
    )
    with st.container(horizontal=True, vertical_alignment="center", key=f"files_{key}"):
        for suffix, mime, icon, make in files:
            st.download_button(
                t(f"map.{suffix}"),
                lambda make=make: make().encode("utf-8", "replace"),
                file_name=f"{file_stem}.{suffix}",
                mime=mime,
                key=f"download_{suffix}_{key}",
                on_click="ignore",
                icon=f":material/{icon}:",
                disabled=not places,
            )


def build_html_map(
    recorded_places: Sequence[RecordedPlace],
    search_areas: Sequence[SearchArea],
    title: str,
    language: Language,
    *,
    routes: Sequence[Route] = (),
) -> str:
    """Build a map with its list as one HTML file that loads nothing else.

    It has no tiles, since tile servers do not serve a page opened from a disk.
    """
    translate = create_translator(language)
    content = map_content.select_content(recorded_places, search_areas, routes, language)
    data = {
        "map": {"of": content.digest, **content.data},
        "list": {
            "of": "",
            "rows": content.list_rows,
            "colours": map_content.CATEGORY_COLORS,
            "picked": 0,
            "ticked": None,
            "turn": 0,
            "words": {"list": translate("map.list"), "tick": translate("map.tick")},
        },
    }
    script, style = _bundle_scripts(), _bundle_styles()
    policy = (
        f"default-src 'none'; img-src data:; style-src {_csp_hash(style)}; script-src {_csp_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    heading = _escape_html(to_single_line(title))
    count = format_number(len(content.recorded_places))
    notes = [*widening_notes(content.search_areas, translate), translate("map.html_note", n=count)]
    return f"""<!doctype html>
<html lang="{LANGUAGE_TAGS[language]}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>{style}</style>
</head>
<body>
<h1 dir="auto">{heading}</h1>
<p>{_escape_html(" ".join(notes))}</p>
<main><div id="map"></div><div id="list"><div class="sl-places"></div></div></main>
<script type="application/json" id="data">{map_content.encode_script_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def _escape_html(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())


@lru_cache(maxsize=1)
def _bundle_scripts() -> str:
    """Return all scripts of the HTML map, without references to source maps."""
    parts = [(ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in map_content.SCRIPTS]
    parts = [re.sub(r"^//# sourceMappingURL=.*$", "", part, flags=re.M) for part in parts]
    list_script = (ASSETS_FOLDER / "map" / "list.js").read_text(encoding="utf-8")
    list_script = list_script.replace("export default", "sightline.list =")
    start_script = (ASSETS_FOLDER / "map" / "file.js").read_text(encoding="utf-8")
    return "\n".join([*parts, f"(() => {{\n{list_script}\n}})();", start_script])


@lru_cache(maxsize=1)
def _bundle_styles() -> str:
    names = (*map_content.STYLES, "map/list.css", "map/file.css")
    text = "\n".join((ASSETS_FOLDER / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"url\([^)]*\)", "none", text)  # images of unused controls


def _csp_hash(text: str) -> str:
    """Return the hash of an inline script or style as a source of a content security policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
