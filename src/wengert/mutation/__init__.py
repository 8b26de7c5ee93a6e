"""What written arrays are and were: their versions, views as lenses on them, the undo log, and residuals."""
