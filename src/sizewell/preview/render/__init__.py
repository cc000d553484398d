"""One set of records, five forms: terminal, Markdown, JSON, HTML, FOCUS rows. None of them computes a figure."""
