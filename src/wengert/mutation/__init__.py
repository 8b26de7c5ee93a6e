"""In-place writes: versions of arrays, views as lenses on them, the undo log, and residuals."""
