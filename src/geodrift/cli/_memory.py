"""What a command that works for long in little memory asks of the allocator."""

import ctypes
import sys

_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of malloc.h
LARGE = 2**22  # bytes; with blocks of a megabyte too, aligning draws takes five times as long


def give_large_blocks_back() -> None:
    """Let blocks of `LARGE` bytes and more go back to the system when they are freed, under glibc.

    It keeps freed blocks of up to 32 MB for blocks to come, in a heap for each thread. Draws that other
    threads have read, for the alignment, leave as much as that there, which no later block of documents fits.
    Other allocators have no such function, and keep what they keep.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, LARGE)
