"""The words of what can be taken away from a run."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    # download
    "download.markdown": ("下载 Markdown", "Download Markdown"),
    "download.pdf": ("下载 PDF", "Download PDF"),
    "download.docx": ("下载 Word", "Download Word"),
    "download.more": ("更多格式", "More formats"),
    "download.notes": ("Markdown（脚注，适合 Obsidian）", "Markdown with footnotes (Obsidian)"),
    "download.page": ("网页（HTML）", "Web page (HTML)"),
    "download.json": ("数据（JSON）", "Data (JSON)"),
    "download.csl": ("引文（CSL-JSON）", "References (CSL-JSON)"),
    "download.bib": ("引文（BibTeX）", "References (BibTeX)"),
    "download.ris": ("引文（RIS）", "References (RIS)"),
    "download.sources_csv": ("来源表（CSV）", "Sources (CSV)"),
    "download.answer_csv": ("答案中的表格（CSV）", "Tables of the answer (CSV)"),
    "download.answer_excel": ("答案中的表格（Excel）", "Tables of the answer (Excel)"),
    "download.zip": ("全部文件（ZIP）", "Everything (ZIP)"),
    "download.failed": ("“{what}”无法生成。服务器日志中的编号：{id}", "“{what}” could not be created. Error number in the server log: {id}"),
    # download_group
    "download_group.report": ("报告", "Report"),
    "download_group.sources": ("来源", "Sources"),
    "download_group.places": ("地点", "Places"),
    "download_group.tables": ("表格", "Tables"),
    "download_group.all": ("全部", "Everything"),
}  # fmt: skip
