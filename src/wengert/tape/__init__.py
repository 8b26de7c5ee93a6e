"""The recording as a tape to read, run, print, edit and write out."""
