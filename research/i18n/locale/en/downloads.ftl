### The words of what can be taken away from a run.

download-markdown = Download Markdown
download-pdf = Download PDF
download-docx = Download Word
download-more = More formats
download-notes = Markdown with footnotes (Obsidian)
download-page = Web page (HTML)
download-json = Data (JSON)
download-csl = References (CSL-JSON)
download-bib = References (BibTeX)
download-ris = References (RIS)
download-sources_csv = Sources (CSV)
download-answer_csv = Tables of the answer (CSV)
download-answer_excel = Tables of the answer (Excel)
download-zip = Everything (ZIP)
download-failed = “{ $what }” could not be created. Error number in the server log: { $id }
download_group-report = Report
download_group-sources = Sources
download_group-places = Places
download_group-tables = Tables
download_group-all = Everything
