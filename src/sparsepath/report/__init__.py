"""HTML reports of selection paths: first a plain summary, then the page that shows it."""

from sparsepath.report.contest import contest_page
from sparsepath.report.features import Seen
from sparsepath.report.page import page
from sparsepath.report.summary import sentences, summary

__all__ = ["Seen", "contest_page", "page", "sentences", "summary"]
