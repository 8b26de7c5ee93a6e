"""Objects that hold no value of a trace."""


class Sealed:
    """A base of classes whose objects hold no value of a trace, so that no search for such values enters them.

    A rule may pass such an object as a keyword argument of a function with a rule.

    See Also:
        compiled_by

    Examples:
        >>> class Coefficients(wg.extend.Sealed):
        ...     pass
    """
