"""Handlers of foreign values, which are neither Python numbers nor plain arrays of numbers.

They are array subclasses, structured arrays, arrays of objects, strings, `a.flat` and ufuncs of `np.frompyfunc`.
"""
