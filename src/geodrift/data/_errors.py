"""The error every bad input raises."""


class InputError(ValueError):
    """Something the caller gave cannot be used; the message is one line that says what and what to do."""
