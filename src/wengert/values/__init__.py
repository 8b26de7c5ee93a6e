"""Values, views, trees, cotangents and lines of the user's code. This package imports neither rules nor traces."""
