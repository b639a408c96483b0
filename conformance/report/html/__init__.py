"""The HTML report: an application in one file that needs nothing else, and no request leaves it."""

from conformance.report.html.page import render_html
