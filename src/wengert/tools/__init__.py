"""Tools: the time and memory of a gradient by the user's lines and by primitive, HTML pages, the command line."""
