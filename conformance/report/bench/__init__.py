"""The record of ``bench`` as table, Markdown and plot."""
