"""Objects that hold no value of a trace."""


class Sealed:
    """A base of classes whose objects hold no value of a trace, so that no search for such values enters them."""
