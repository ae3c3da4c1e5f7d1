"""The former place and names of the records, which checkpoints written before version 0.24 hold."""

from research.core import records

FORMER_NAMES = {
    "Centre": "SearchArea",
    "Way": "Route",
    "Route": "Itinerary",
    "Distances": "DistanceMatrix",
    "Sighting": "RecordedPlace",
    "Cite": "PassageReference",
    "Lack": "SupportGap",
    "Ruling": "SupportAssessment",
    "Value": "CellValue",
    "Reading": "CellReading",
    "Section": "ReportSection",
    "Step": "DatabaseStep",
    "Known": "ColumnCoverage",
    "Rows": "QueryResult",
    "Outlet": "OutletSummary",
    "Conflict": "StoryConflict",
    "GivenFigure": "CitedFigure",
    "Disagreement": "FigureDisagreement",
    "Change": "StoryChange",
    "Coverage": "NewsCoverage",
    "Tones": "HeadlineTones",
    "Judged": "ModelVerdict",
    "Rulings": "ModelVerdicts",
    "Rewritten": "RewrittenSentences",
    "Repair": "SentenceRepair",
    "Review": "AnswerReview",
    "Options": "RunOptions",
    "Estimate": "RunEstimate",
    "Watch": "WatchedTopic",
    "Check": "ConnectionCheck",
}


def __getattr__(name: str) -> object:
    """Return the record class that had this name then."""
    return getattr(records, FORMER_NAMES.get(name, name))
