"""A team of threads in one process: the exchange of the library without its transport."""

import threading
from concurrent.futures import ThreadPoolExecutor

from geodrift.distributed import Team


class ThreadTeam(Team):
    def __init__(self, rank, size, board, barrier):
        self.rank, self.size, self.board, self.barrier = rank, size, board, barrier

    def _gather(self, own, size):
        assert len(own) <= size
        self.board[self.rank] = own.copy()
        self.barrier.wait(120)
        found = list(self.board)
        self.barrier.wait(120)
        return found


def together(size, work):
    """What ``work(team)`` returns in each of ``size`` processes."""
    board, barrier = [None] * size, threading.Barrier(size)

    def of_rank(rank):
        try:
            return work(ThreadTeam(rank, size, board, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return [one.result() for one in [pool.submit(of_rank, rank) for rank in range(size)]]
