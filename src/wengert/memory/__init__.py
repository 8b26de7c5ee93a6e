"""What written arrays were and are: versions, views as lenses, the undo log, residuals."""
