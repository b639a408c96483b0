"""The record of ``bench`` as table and Markdown."""
