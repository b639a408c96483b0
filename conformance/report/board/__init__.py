"""The board: the records of several ports on one page, as HTML and as Markdown."""

from conformance.report.board.board_markdown import render_board_markdown
from conformance.report.board.board_page import render_board
from conformance.report.board.columns import board_of
