"""What a value, a view, a tree, a cotangent and a place in the user's code are; knows no rule and no trace."""
