"""Reports: pure functions from records and specs to text. The percentage is always over every kernel of the specs."""

from conformance.report.ci import render_junit
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.summary import render_summary
from conformance.report.terminal import render_terminal
from conformance.writing import write_text
