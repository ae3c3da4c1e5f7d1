"""Words of SQL that a statement may use. Everything not listed here is refused.

Two lists check each other: the classes of the parsed tree, and the names that the engine will read
in the text generated from that tree. The second also serves SQLite's authorizer and the check of
DuckDB's own tree.
"""

from __future__ import annotations

import re
from typing import Literal

Dialect = Literal["sqlite", "postgres", "duckdb"]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NODE_CLASSES = word_set("""
    Select Union Intersect Except Subquery With CTE Values TableAlias From Join Lateral Table Where
    Group Having Order Ordered Limit Offset Fetch LimitOptions Distinct
    JSONExtract JSONExtractScalar JSONPath JSONPathRoot JSONPathKey JSONPathSubscript JSONKeyValue
    Column Identifier Star Literal Null Boolean Var Alias Aliases Paren Tuple
    Between In Is Not And Or Neg EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Exists Any All
    Like ILike Glob Escape Collate Add Sub Mul Div IntDiv Mod DPipe
    BitwiseAnd BitwiseOr BitwiseNot
    Case If Cast DataType DataTypeParam
    Window WindowSpec Filter WithinGroup IgnoreNulls RespectNulls
""")
"""Classes of nodes that are no function call, on all engines."""

_NODE_CLASSES_POSTGRES = word_set("Interval AtTimeZone Array Cube Rollup GroupingSets")

_FUNCTION_CLASSES = word_set("""
    Count Sum Avg Min Max GroupConcat Coalesce Nullif Greatest Least Typeof
    Round Abs Floor Ceil Sign Trunc Sqrt Pow Exp Ln Log Pi Degrees Radians
    Sin Cos Tan Cot Asin Acos Atan Atan2
    Lower Upper Length Trim Substring Replace StrPosition
    RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue LastValue NthValue
    CurrentDate CurrentTimestamp Rand Chr Format JSONArrayAgg JSONObjectAgg
""")
_FUNCTION_CLASSES_SQLITE = word_set(
    "TimeToStr TsOrDsToTimestamp TsOrDsToDate CurrentTime Unicode Date Datetime Time Hex JSONObject JSONType RegexpLike"
)
_FUNCTION_CLASSES_POSTGRES = word_set("""
    Extract TimestampTrunc DateTrunc TimeToStr StrToDate StrToTime UnixToTime ToNumber
    Localtime Localtimestamp Concat ConcatWs Left Right Initcap SplitPart Reverse Translate
    LogicalAnd LogicalOr Stddev StddevPop StddevSamp Variance VariancePop
    Corr CovarPop CovarSamp PercentileCont PercentileDisc Mode WidthBucket DateFromParts
    MakeInterval Ascii Grouping
    ArrayAgg ArrayToString ArraySize StringToArray Unnest Explode Bracket Pad MD5
    JSONBExtract JSONBExtractScalar JSONBObjectAgg
    RegexpLike RegexpILike RegexpReplace SimilarTo
""")
_NODE_CLASSES_DUCKDB = word_set("Interval Cube Rollup GroupingSets Qualify TryCast")
_FUNCTION_CLASSES_DUCKDB = word_set("""
    Extract TimestampTrunc DateTrunc TimeToStr StrToTime Year Month Day Quarter Week DayOfWeek
    DayOfMonth DayOfYear Monthname Dayname LastDay DateDiff DateFromParts TimeToUnix
    Concat ConcatWs Left Right SplitPart Reverse Translate StartsWith EndsWith Contains
    LogicalAnd LogicalOr Stddev StddevPop StddevSamp Variance VariancePop
    Corr CovarPop CovarSamp RegrSlope RegrIntercept RegrR2 PercentileCont PercentileDisc Mode Median
    ApproxDistinct ArgMax ArgMin AnyValue CountIf First Last Ascii Grouping
""")

ALLOWED_CLASSES: dict[Dialect, frozenset[str]] = {
    "sqlite": NODE_CLASSES | _FUNCTION_CLASSES | _FUNCTION_CLASSES_SQLITE,
    "postgres": NODE_CLASSES | _NODE_CLASSES_POSTGRES | _FUNCTION_CLASSES | _FUNCTION_CLASSES_POSTGRES,
    "duckdb": NODE_CLASSES | _NODE_CLASSES_DUCKDB | _FUNCTION_CLASSES | _FUNCTION_CLASSES_DUCKDB,
}
"""Classes that a node of the tree may have. `FUNCTION_NAMES` covers functions unknown to the parser."""

_COMMON_FUNCTION_NAMES = word_set("""
    distance_km count sum avg min max coalesce nullif round abs floor ceil ceiling sign trunc
    sqrt power pow exp ln log pi degrees radians sin cos tan cot asin acos atan atan2
    lower upper length trim ltrim rtrim substr substring replace
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value
    nth_value random format
""")

FUNCTION_NAMES: dict[Dialect, frozenset[str]] = {
    "sqlite": _COMMON_FUNCTION_NAMES
    | word_set("""
        date datetime time julianday strftime unixepoch total group_concat string_agg ifnull iif
        instr glob like likely unlikely typeof unicode log10 log2 mod
        current_date current_time current_timestamp
        printf char quote hex -> ->> json json_array json_array_length json_extract json_group_array
        json_group_object json_object json_quote json_type json_valid
    """),
    "postgres": _COMMON_FUNCTION_NAMES
    | word_set("""
        current_date current_timestamp localtime localtimestamp now age date_part date_trunc
        extract concat concat_ws to_char to_date to_timestamp to_number make_date isfinite date_bin
        string_agg bool_and bool_or every stddev stddev_pop stddev_samp
        variance var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2
        percentile_cont percentile_disc mode width_bucket greatest least
        position strpos left right initcap split_part reverse translate btrim char_length
        character_length octet_length starts_with ascii div mod log10 cbrt pg_typeof make_interval
        grouping chr lpad rpad md5 array_agg array_to_string array_length cardinality
        string_to_array unnest regexp_replace
        json_agg jsonb_agg json_object_agg jsonb_object_agg json_build_object jsonb_build_object
        json_build_array jsonb_build_array to_json to_jsonb json_array_length jsonb_array_length
        json_typeof jsonb_typeof json_extract_path json_extract_path_text jsonb_extract_path
        jsonb_extract_path_text
    """),
    "duckdb": _COMMON_FUNCTION_NAMES
    | word_set("""
        current_date current_timestamp now today age date_part date_trunc extract date_diff last_day
        year month day quarter week weekofyear dayofweek weekday isodow dayofmonth dayofyear monthname
        dayname make_date epoch strftime strptime isfinite
        concat concat_ws left right split_part reverse translate starts_with ends_with prefix suffix
        contains position strpos instr ascii
        string_agg group_concat listagg count_if bool_and bool_or stddev stddev_pop stddev_samp variance
        var_pop var_samp corr covar_pop covar_samp regr_slope regr_intercept regr_r2 median
        quantile_cont quantile_disc percentile_cont percentile_disc mode approx_count_distinct
        arg_max arg_min any_value first last
        greatest least ifnull mod log10 log2 cbrt typeof grouping
    """),
}
"""Allowed functions by their names in the engine, in lower case."""

KEYWORDS = word_set("""
    as in exists and or not on using over partition by order where having when then else case from
    select union all any some distinct values filter group within limit offset between is like
    ilike glob escape collate cast interval lateral join with array rollup cube sets materialized
    numeric decimal varchar char character window except intersect except row rows range groups
    float time timestamp timestamptz timetz end similar to qualify try_cast
""")
"""Words before a parenthesis that are no function calls."""

CAST_TYPES: dict[Dialect, frozenset[str]] = {
    "sqlite": word_set("INT BIGINT SMALLINT TINYINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR NCHAR NVARCHAR BOOLEAN"),
    "postgres": word_set("""
        INT BIGINT SMALLINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR BOOLEAN DATE TIME TIMETZ
        TIMESTAMP TIMESTAMPTZ INTERVAL JSON JSONB
    """),
    "duckdb": word_set("""
        INT BIGINT SMALLINT TINYINT INT128 DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR BOOLEAN DATE TIME
        TIMESTAMP TIMESTAMPNTZ INTERVAL
    """),
}
"""Types that a value may be cast to."""

COLLATIONS: dict[Dialect, frozenset[str]] = {
    "sqlite": word_set("binary nocase rtrim"),
    "postgres": word_set("c posix ucs_basic default"),
    "duckdb": word_set("binary nocase noaccent"),
}

FORMAT_PATTERNS: dict[Dialect, re.Pattern[str]] = {
    "sqlite": re.compile(r"(?:[^%]|%[-+ 0,#!]{0,4}\d{0,2}(?:\.\d{0,2})?(?:ll|l)?[diuxXoeEfgGscqQw%])*"),
    "postgres": re.compile(r"(?:[^%]|%-?\d{0,2}[sIL]|%%)*"),
    "duckdb": re.compile(r"[^%{}]*"),  # no format at all
}
"""Allowed first arguments of printf and format: widths have two digits at most."""
