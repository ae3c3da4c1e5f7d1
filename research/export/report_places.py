"""Places and routes of a report, and the map files that hold them."""

from __future__ import annotations

from research.citations.numbering import CitedAnswer
from research.core.records import Place, Report, Route
from research.export.geo import has_line_on_globe, is_on_globe, places_csv, places_geojson, places_kml
from research.export.options import ExportOptions
from research.export.provenance import provenance_lines
from research.export.report_facts import collect_report_evidence


def collect_places(report: Report) -> list[Place]:
    """Return the places of a report, each once, including those of table rows."""
    grid = report.plan.grid if report.plan else None
    row_places = [row.place for row in grid.rows if row.place] if grid else []
    places = [*row_places, *(item.place for item in collect_report_evidence(report) if item.place)]
    return [*{(place.provider, place.id, place.name): place for place in places}.values()]


def places_on_globe(report: Report) -> list[Place]:
    """Return the places of a report that a map file can hold."""
    return [place for place in collect_places(report) if is_on_globe(place)]


def _routes_on_globe(report: Report) -> list[Route]:
    routes = [item.route for item in collect_report_evidence(report) if item.route]
    return [route for route in routes if has_line_on_globe(route)]


def places_geojson_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return places and routes as GeoJSON."""
    return places_geojson(places_on_globe(report), provenance_lines(report, cited), _routes_on_globe(report))


def places_kml_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return places and routes as KML, titled like the question."""
    places, routes = places_on_globe(report), _routes_on_globe(report)
    return places_kml(places, report.run.question, provenance_lines(report, cited), routes)


def places_csv_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return places as CSV."""
    return places_csv(places_on_globe(report))
