"""How far apart two points are: one word, `distance_km(lng, lat, lng, lat)`, on every engine.

Degrees of WGS-84, longitude first, as everywhere in the program; the great circle on a sphere
(haversine). SQLite gets a Python function, PostgreSQL the same formula as plain SQL, so that
nothing has to be installed in the analyst's database.
"""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt

from sqlglot import exp, parse_one

NAME = "distance_km"
EARTH_KM = 6371.0088  # the mean radius
ALMOST_ONE = 0.99999999999999  # keeps rounding from asking for the arc of more than a quarter


def distance_km(lng1: object, lat1: object, lng2: object, lat2: object) -> float | None:
    """Kilometres; None if a coordinate is missing or is no number, as SQL has it."""
    try:
        east1, north1, east2, north2 = (
            radians(float(value))  # type: ignore[arg-type]
            for value in (lng1, lat1, lng2, lat2)
        )
    except (TypeError, ValueError):
        return None
    half = sin((north2 - north1) / 2) ** 2
    half += cos(north1) * cos(north2) * sin((east2 - east1) / 2) ** 2
    return 2 * EARTH_KM * asin(sqrt(min(1.0, half)))


def inlined(call: exp.Anonymous) -> exp.Expr:
    """The call as an expression that every PostgreSQL understands; NULL in is NULL out.

    `least(1, …)` would not do: PostgreSQL's ignores NULLs, and a missing coordinate would lie on the
    other side of the Earth.
    """
    lng1, lat1, lng2, lat2 = (
        f"RADIANS(CAST(({argument.sql('postgres')}) AS DOUBLE PRECISION))"
        for argument in call.expressions
    )
    half = (
        f"POWER(SIN(({lat2} - {lat1}) / 2), 2)"
        f" + COS({lat1}) * COS({lat2}) * POWER(SIN(({lng2} - {lng1}) / 2), 2)"
    )
    return parse_one(f"({2 * EARTH_KM} * ASIN(SQRT(({half}) * {ALMOST_ONE})))", read="postgres")
