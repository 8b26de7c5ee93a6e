"""Derivative rules: declare, look up, analyse, specialise, call and check them."""
