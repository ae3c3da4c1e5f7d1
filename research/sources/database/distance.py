"""Distance between two points: the function `distance_km(lng, lat, lng, lat)` on every engine.

Coordinates are degrees of WGS-84, longitude first, as everywhere in the program. The distance is
the great circle on a sphere (haversine formula). SQLite gets a Python function, the other engines
the same formula as plain SQL, so that nothing has to be installed in the analyst's database.
"""

from __future__ import annotations

from math import asin, cos, pi, sin, sqrt

from sqlglot import exp, parse_one

FUNCTION_NAME = "distance_km"
EARTH_RADIUS_KM = 6371.0088  # the mean radius
RADIANS_PER_DEGREE = pi / 180
QUARTER_TURN_RADIANS = 90 * RADIANS_PER_DEGREE
ALMOST_ONE = 0.99999999999999  # factor that keeps rounding errors from exceeding the domain of asin


def distance_km(lng1: object, lat1: object, lng2: object, lat2: object) -> float | None:
    """Return the distance in kilometres between two points in degrees.

    None if a coordinate is missing or no number, like NULL in SQL, or if a latitude lies beyond a
    pole. A longitude may exceed a full turn.
    """
    try:
        north1, north2 = float(lat1) * RADIANS_PER_DEGREE, float(lat2) * RADIANS_PER_DEGREE  # type: ignore[arg-type]
        if not (
            -QUARTER_TURN_RADIANS <= north1 <= QUARTER_TURN_RADIANS
            and -QUARTER_TURN_RADIANS <= north2 <= QUARTER_TURN_RADIANS
        ):
            return None
        east = (float(lng2) - float(lng1)) * RADIANS_PER_DEGREE  # type: ignore[arg-type]
        haversine = sin((north2 - north1) / 2) ** 2 + cos(north1) * cos(north2) * sin(east / 2) ** 2
    except (TypeError, ValueError):
        return None
    return 2 * EARTH_RADIUS_KM * asin(sqrt(haversine if haversine < 1 else 1.0))


def inline_distance(call: exp.Anonymous, dialect: str) -> exp.Expr:
    """Write a call of `distance_km` as an expression for PostgreSQL and DuckDB; NULL in is NULL
    out.

    `least(1, …)` would be wrong: PostgreSQL's ignores NULLs, so a missing coordinate would be
    placed on the other side of the Earth.
    """
    arguments = [f"CAST(({argument.sql(dialect)}) AS DOUBLE PRECISION)" for argument in call.expressions]
    lng1, lat1, lng2, lat2 = (f"RADIANS({degrees})" for degrees in arguments)
    half = f"POWER(SIN(({lat2} - {lat1}) / 2), 2) + COS({lat1}) * COS({lat2}) * POWER(SIN(({lng2} - {lng1}) / 2), 2)"
    distance = f"{2 * EARTH_RADIUS_KM} * ASIN(SQRT(({half}) * {ALMOST_ONE}))"
    is_valid = " AND ".join(f"{arguments[n]} BETWEEN -90 AND 90" for n in (1, 3))
    return parse_one(f"(CASE WHEN {is_valid} THEN {distance} END)", read=dialect)
