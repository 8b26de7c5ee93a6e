"""Values, views, trees, cotangents and places in the user's code; this package knows no rule and no trace."""
