"""The board: the records of several ports on one page, as HTML and as Markdown."""

from conformance.report.board.columns import board_of
from conformance.report.board.markdown import render_board_markdown
from conformance.report.board.page import render_board

__all__ = ["board_of", "render_board", "render_board_markdown"]
