"""Tapes: recordings that you can read, run, print, edit and write out as source."""
