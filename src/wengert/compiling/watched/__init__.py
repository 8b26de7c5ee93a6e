"""Watched traces: values read from outside the function become inputs of its generated code, or guards."""
