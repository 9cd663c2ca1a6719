"""What a step of latent Dirichlet allocation costs several processes, and a model of it for many.

    python benchmarks/lda/processes.py --json processes.json [--tokens 524288] [--topics 100] [--words 28000]

Times are of the processor, of one thread: the processes are threads that exchange by a barrier, and what one
of them waits is not counted. The time of an exchange is measured apart, between two real processes. From both
the model is made: seconds of a step of M tokens, K topics and V words over N processes,

    (c + l) M / N + a M (N - 1) / N + s M + R (L + imbalance) + B_N / B

with c a draw, l the layout of a token of its own and s of one of all, a what the draw of another process
costs, R rounds, L the latency, B_N the bytes that a process receives, B the bandwidth. Where draws travel l
is 0; where counts do, a and s are. ``delayed`` are steps by the clock of two, and of four, real processes
whose exchanges wait for a latency and for their bytes at a bandwidth, beside what the model makes of the
steps without.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["NUMBA_NUM_THREADS"] = "1"  # or another thread does the work, whose time is not counted

import numba
import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus
from geodrift.distributed import Team
from geodrift.models.latent_dirichlet_allocation import Chain, Settings
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed import _sampler as sampler
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs.distributed._rounds import (
    rounds_of,
    shares_of,
)

LENGTH, STEPS, WARM = 60, 12, 6
DELAYS = [(0.0, 1e12), (2e-3, 1e9), (1e-2, 1e8)]  # seconds, bytes a second
SIZES = [2**6, 2**12, 2**16, 2**18, 2**20]


class Threads(Team):
    """Processes as threads."""

    def __init__(self, rank, size, board, barrier):
        self.rank, self.size, self.board, self.barrier, self.sent = rank, size, board, barrier, []

    def _gather(self, own, size):
        self.sent.append(len(own))
        self.board[self.rank] = own.copy()
        self.barrier.wait()
        found = list(self.board)
        self.barrier.wait()
        return found


def corpus_of(documents, words, topics, seed=0):
    """Documents of `LENGTH` words each, drawn from latent Dirichlet allocation."""
    random = np.random.default_rng(seed)
    shape = 0.05 * words * np.arange(1, words + 1) ** -1.0 / np.sum(1.0 / np.arange(1, words + 1))
    cumulative = np.cumsum(random.dirichlet(np.maximum(shape, 1e-3), topics), axis=1)
    rows = []
    for mixture in random.dirichlet(np.full(topics, 0.1), documents):
        own = random.choice(topics, LENGTH, p=mixture)
        found = [np.searchsorted(cumulative[k], random.random()) for k in own]
        rows.append(np.minimum(found, words - 1))
    places = np.repeat(np.arange(documents), LENGTH)
    ones = np.ones(len(places), np.int32)
    return Corpus.from_matrix(sp.csr_matrix((ones, (places, np.concatenate(rows))), (documents, words)))


def seconds_of_steps(corpus, topics, batch, size):
    """Processor seconds of a step at each process, and bytes that each receives in it."""
    board, barrier = [None] * size, threading.Barrier(size)

    def work(rank):
        numba.set_num_threads(1)
        team = Threads(rank, size, board, barrier) if size else None
        chain = Chain(corpus, Settings(n_topics=topics, batch_size=batch), seed=1, team=team)
        chain.compile()
        chain.begin(chain.shares.plan(10_000))
        found = []
        for _ in range(STEPS):
            before = time.thread_time(), team.bytes_received if team else 0
            chain.step()
            found.append((time.thread_time() - before[0], (team.bytes_received if team else 0) - before[1]))
        return np.array(found[WARM:])

    with ThreadPoolExecutor(max(size, 1)) as pool:
        of_ranks = [one.result() for one in [pool.submit(work, rank) for rank in range(max(size, 1))]]
    return [float(np.min(found[:, 0])) for found in of_ranks], float(np.mean([f[:, 1] for f in of_ranks]))


class Delayed(Team):
    """Processes whose exchanges take longer than they do."""

    def __init__(self, team):
        self.team, self.rank, self.size = team, team.rank, team.size
        self.latency, self.bandwidth, self.rounds, self.bytes = 0.0, np.inf, 0, 0

    def _gather(self, own, size):
        found = self.team._gather(own, size)
        self.rounds, self.bytes = self.rounds + 1, self.bytes + size * (self.size - 1)
        time.sleep(self.latency + size * (self.size - 1) / self.bandwidth)
        return found


def delayed(rank, port, size, tokens, topics, words):
    """One of ``size`` processes: seconds of a step, its rounds and bytes, for each form and each delay."""
    from geodrift.distributed import Place, join, leave

    numba.set_num_threads(1)
    team, found = Delayed(join(Place(f"127.0.0.1:{port}", rank, size))), []
    for name, worth_travel in (("draws travel", np.inf), ("counts travel", 0.0)):
        sampler.WORTH_TRAVEL = worth_travel
        batch = tokens // LENGTH
        chain = Chain(
            corpus_of(2 * batch, words, 50), Settings(n_topics=topics, batch_size=batch), seed=1, team=team
        )
        chain.begin(chain.shares.plan(10_000))
        while chain.move.complete_at < 0:
            chain.step()
        for latency, bandwidth in DELAYS:
            team.latency, team.bandwidth, seconds = latency, bandwidth, []
            for _ in range(STEPS):
                team.rounds, team.bytes, begun = 0, 0, time.perf_counter()
                chain.step()
                seconds.append(time.perf_counter() - begun)
            told = {"latency": latency, "bandwidth": bandwidth, "seconds": float(np.median(seconds[2:]))}
            found.append({"form": name} | told | {"rounds": team.rounds, "bytes": team.bytes})
        team.latency, team.bandwidth = 0.0, np.inf
    leave()
    print(json.dumps(found))


def with_delays(size, tokens, topics, words):
    """What `delayed` finds at process 0, and what the steps without a delay make of it."""
    rows = of_processes(size, "--delayed", size, tokens, topics, words)
    for row in rows:
        base = next(one for one in rows if one["form"] == row["form"])
        waits = row["rounds"] * row["latency"] + row["bytes"] / row["bandwidth"]
        row["model"] = base["seconds"] + waits
        print(size, row, flush=True)
    return rows


def exchange(rank, port):
    """One of two processes that exchange buffers: milliseconds of each size, wall and processor."""
    from geodrift.distributed import Place, join, leave

    team, found = join(Place(f"127.0.0.1:{port}", rank, 2)), {}
    for size in SIZES:
        own, times = np.zeros(size, np.uint8), []
        for _ in range(60):
            begun = time.perf_counter(), time.process_time()
            team.gather(own, [size, size])
            times.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
        wall, processor = np.array(times[5:]).T
        found[size] = [1e3 * np.min(wall), 1e3 * np.median(wall), 1e3 * np.min(processor)]
    leave()
    print(json.dumps(found))


def of_processes(size, *words):
    """What process 0 of several prints that this file is, told the words, their numbers and a port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    commands = [
        [sys.executable, __file__, words[0], str(rank), str(port), *map(str, words[1:])]
        for rank in range(size)
    ]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    said = [one.communicate()[0] for one in started]
    return json.loads(said[0].splitlines()[-1])


def fitted(measured, tokens):
    """c, a and s of the model, seconds a token: least squares over the numbers of processes."""
    rows, values = [], []
    for size, found in measured.items():
        number = max(int(size), 1)
        rows.append([1 / number, (number - 1) / number if size != "0" else 0.0, 1.0 if size != "0" else 0.0])
        values.append(float(np.mean(found["seconds"])) / tokens)
    draw, hear, lay = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0]
    return {"draw": draw, "hear": hear, "lay_out": lay}


def step_seconds(costs, form, number, tokens, table, latency, bandwidth):
    """The model's terms, for as many groups and parts as processes need; ``table`` has V K counts."""
    parts, share = 2 * max(4, number), (number - 1) / number
    several = number > 1
    if form == "draws travel":
        rounds = len(rounds_of(4, 8, shares_of(4, number))) if number <= 4 else parts
        return {
            "draws": costs["draw"] * tokens / number,
            "draws of others": costs["hear"] * tokens * share,
            "layout": costs["lay_out"] * tokens,
            "latency": latency * (rounds + 1) * several,
            "bytes": 2 * tokens * share / bandwidth,
        }
    # A part goes to the neighbour after each phase, all come together at the end, and topics of a byte go to
    # who draws them and back.
    counts = 4 * table * (1 + share) * several
    return {
        "draws": costs["draw"] * tokens / number,
        "layout": costs["lay_out"] * tokens / number,
        "latency": latency * (parts + 2) * several,
        "bytes": (counts + 2 * tokens / number * share) / bandwidth,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", required=True)
    parser.add_argument("--tokens", type=int, default=2**19)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--words", type=int, default=28_000)
    for name, work in (("--exchange", exchange), ("--delayed", delayed)):
        if name in sys.argv:
            return work(*map(int, sys.argv[sys.argv.index(name) + 1 :]))
    options = parser.parse_args()
    batch = options.tokens // LENGTH
    corpus = corpus_of(4 * batch, options.words, 50)
    measured = {}
    for size in (0, 1, 2, 4):
        seconds, received = seconds_of_steps(corpus, options.topics, batch, size)
        measured[str(size)] = {"seconds": seconds, "bytes": received}
        print(size, "processes" if size else "without a team", seconds, f"{received:,.0f} bytes", flush=True)
    found = {"options": vars(options), "measured": measured, "exchange": of_processes(2, "--exchange")}
    found["costs"] = costs = fitted(measured, batch * LENGTH)
    sizes = options.tokens, options.topics, options.words
    found["delayed"] = {size: with_delays(size, *sizes) for size in (2, 4)}
    found["model"] = {
        f"{name}, {form}": {
            number: step_seconds(costs, form, number, tokens, options.words * options.topics, *network)
            for number in (1, 2, 4, 16, 64, 256, 1024)
        }
        for form in ("draws travel", "counts travel")
        for name, tokens, *network in [
            ("one machine, 2^19 tokens a step", 2**19, 3e-4, 7e8),
            ("10 Gbit/s and 50 us, 10^8 tokens a step", 10**8, 5e-5, 1.25e9),
            ("10 Gbit/s and 50 us, 10^10 tokens a step", 10**10, 5e-5, 1.25e9),
        ]
    }
    pathlib.Path(options.json).write_text(json.dumps(found, indent=1))
    print(json.dumps({name: found[name] for name in ("exchange", "costs", "model")}, indent=1))


if __name__ == "__main__":
    main()
