"""Checks of arguments that the variational fits of all models share."""


def check_steps(max_iter: int, seconds: float | None) -> None:
    """Raise ValueError unless the number of steps and the time limit are positive."""
    if max_iter != int(max_iter) or max_iter < 1:
        raise ValueError(f"max_iter must be a whole number of at least 1, got {max_iter}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds must be positive or None, got {seconds}")


def check_batches(batch_size: int, num_documents: int, delay: float, decay: float) -> None:
    """Raise ValueError unless the batch can be drawn and steps of weight (t + delay)^-decay converge."""
    if batch_size != int(batch_size) or not 1 <= batch_size <= num_documents:
        allowed = f"a whole number from 1 to the {num_documents} documents"
        raise ValueError(f"batch_size must be {allowed}, got {batch_size}")
    if not delay >= 0:
        raise ValueError(f"delay must not be negative, got {delay}")
    if not 0.5 < decay <= 1:
        raise ValueError(f"decay must be above 0.5 and at most 1, got {decay}")
