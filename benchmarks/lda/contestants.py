"""Programs that fit LDA, each as a function that gives its topics at marks of seconds of training.

A contestant is ``f(train, num_topics, seed, marks) -> (seconds of start-up, states)``; a state is ``(mark,
topics or None, number of draws, passes)``, of the last step that ended by the mark, None where none had. The
clock stands still while a state is copied. Loading the corpus, compilation and what is done before the first
step (indices, random assignments, worker processes where they outlive a step) is start-up.
"""

import contextlib
import functools
import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from bars import DRAWS, PRIOR, Watched, states

from geodrift.data import Corpus
from geodrift.driver import sampled
from geodrift.models.latent_dirichlet_allocation import Chain, Settings, fit_hybrid_variational
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.variational._hybrid_variational import HybridVariational

CORES = 2
ETA = PRIOR["topic_word_prior"]
ONLINE = {"sklearn": (1024, 0.7, 10.0), "gensim": (1000, 0.5, 1.0)}  # minibatch, decay, offset
LATE = 1.1  # times the mark: a step that was thought to end before it, and did not

State = tuple[float, np.ndarray | None, int, float]


def at_marks(
    step: Callable[[], None],
    topics: Callable[[], np.ndarray],
    passes: Callable[[], float],
    marks: list[float],
) -> list[State]:
    """Trains step by step; a step that is as long as the last must end by the mark to count."""
    spent, last, kept, left = 0.0, 0.0, [], list(marks)
    while left:
        begun = time.perf_counter()
        step()
        last = time.perf_counter() - begun
        spent += last
        while left and spent + last > left[0]:
            mark = left.pop(0)
            kept.append((mark, topics(), 1, passes()) if spent <= LATE * mark else (mark, None, 1, 0.0))
    return kept


def geodrift(
    train: sp.csr_matrix, num_topics: int, seed: int, marks: list[float], method: str = "gibbs"
) -> tuple[float, list[State]]:
    """Planned for the last mark; and ten stored draws at its end."""
    started = time.perf_counter()
    settings = Settings(n_topics=num_topics, num_draws=DRAWS, method=method, **PRIOR)
    corpus = Corpus.from_matrix(train)
    if method != "gibbs":  # its kernels are compiled in steps
        sampled([Chain(corpus, settings, seed=seed)], 4)
    chain = Watched(corpus, settings, seed=seed)
    chain.compile()
    chain.watch(marks, time.perf_counter)
    found = states(chain, marks[-1])
    return chain.begun - started, [
        (at, topics, draws, seen / train.shape[0]) for at, topics, draws, seen in found
    ]


def hybrid(train: sp.csr_matrix, num_topics: int, seed: int, marks: list[float]) -> tuple[float, list[State]]:
    """Hybrid variational inference at the defaults of `fit_hybrid_variational`."""
    started = time.perf_counter()
    source, alpha = TokenSource(Corpus.from_matrix(train)), np.full(num_topics, PRIOR["doc_topic_prior"])
    shape = (source.num_words, num_topics)
    fit = HybridVariational(source.num_documents, shape, source.num_tokens, alpha, ETA, seed)
    plan = inspect.signature(fit_hybrid_variational).parameters
    batch, burn_in, sweeps, delay, decay = (
        plan[name].default for name in ("batch_size", "burn_in", "sweeps", "delay", "decay")
    )
    fit.step(source.minibatch(np.zeros(0, np.int64)), 0.0, burn_in=burn_in, sweeps=sweeps)  # compiles
    rng, seen, order = np.random.default_rng(seed), [0], [np.zeros(0, int)]

    def step() -> None:
        if len(order[0]) < batch:
            order[0] = rng.permutation(train.shape[0])
        weight = (1.0 + fit.steps / delay) ** -decay
        fit.step(source.minibatch(order[0][:batch]), weight, burn_in=burn_in, sweeps=sweeps)
        seen[0] += batch
        order[0] = order[0][batch:]

    def topics() -> np.ndarray:
        parameters = fit.parameters().T
        return parameters / parameters.sum(axis=1, keepdims=True)

    begun = time.perf_counter()
    return begun - started, at_marks(step, topics, lambda: seen[0] / train.shape[0], marks)


def tomotopy(
    train: sp.csr_matrix, num_topics: int, seed: int, marks: list[float]
) -> tuple[float, list[State]]:
    """Collapsed Gibbs sampling; its prior is not optimised. Documents are lists of words."""
    import tomotopy

    started = time.perf_counter()
    warnings.filterwarnings("ignore", message="The training result may differ")
    model = tomotopy.LDAModel(k=num_topics, alpha=PRIOR["doc_topic_prior"], eta=ETA, seed=seed)
    model.optim_interval = 0
    names = np.array([str(word) for word in range(train.shape[1])])
    for first, last in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        if last > first:
            model.add_doc(names[np.repeat(train.indices[first:last], train.data[first:last])].tolist())
    model.train(0, workers=CORES)  # random assignments
    words, sweeps = np.array(model.used_vocabs, int), [0]

    def sweep() -> None:
        model.train(1, workers=CORES)
        sweeps[0] += 1

    def topics() -> np.ndarray:
        # Its vocabulary lacks words that no document has.
        totals = model.get_count_by_topics()[:, None].astype(float)
        full = totals + ETA * train.shape[1]
        out = np.repeat(ETA / full, train.shape[1], axis=1)
        own = np.stack([model.get_topic_word_dist(topic) for topic in range(num_topics)])
        out[:, words] = own * (totals + ETA * len(words)) / full
        return out

    begun = time.perf_counter()
    return begun - started, at_marks(sweep, topics, lambda: float(sweeps[0]), marks)


def sklearn(
    train: sp.csr_matrix, num_topics: int, seed: int, marks: list[float]
) -> tuple[float, list[State]]:
    """Online variational Bayes by `partial_fit`, over the documents in a new order each pass."""
    from sklearn.decomposition import LatentDirichletAllocation

    started = time.perf_counter()
    batch, decay, offset = ONLINE["sklearn"]

    def made() -> LatentDirichletAllocation:
        return LatentDirichletAllocation(
            num_topics,
            doc_topic_prior=PRIOR["doc_topic_prior"],
            topic_word_prior=ETA,
            batch_size=batch,  # into which partial_fit cuts what it is given
            learning_decay=decay,
            learning_offset=offset,
            total_samples=train.shape[0],
            n_jobs=CORES,
            random_state=seed,
        )

    made().partial_fit(train[:100])  # starts its workers
    model, rng, seen, order = made(), np.random.default_rng(seed), [0], [np.zeros(0, int)]

    def step() -> None:
        if not len(order[0]):
            order[0] = rng.permutation(train.shape[0])
        model.partial_fit(train[order[0][:batch]])
        seen[0] += min(batch, len(order[0]))
        order[0] = order[0][batch:]

    def topics() -> np.ndarray:
        return model.components_ / model.components_.sum(axis=1, keepdims=True)

    begun = time.perf_counter()
    return begun - started, at_marks(step, topics, lambda: seen[0] / train.shape[0], marks)


class _DoneError(Exception):
    """The last mark has gone by."""


def gensim(train: sp.csr_matrix, num_topics: int, seed: int, marks: list[float]) -> tuple[float, list[State]]:
    """Online variational Bayes by `LdaMulticore`, over documents that are shuffled once."""
    from gensim.models import LdaMulticore

    started = time.perf_counter()
    chunk, decay, offset = ONLINE["gensim"]
    shuffled = train[np.random.default_rng(seed).permutation(train.shape[0])]
    documents = [
        list(zip(shuffled.indices[a:b].tolist(), shuffled.data[a:b].tolist(), strict=True))
        for a, b in zip(shuffled.indptr[:-1], shuffled.indptr[1:], strict=True)
    ]
    kept: list[State] = []

    class Clocked(LdaMulticore):
        """Its topics change in `do_mstep` alone."""

        begun, seen = 0.0, 0

        def do_mstep(self, rho: float, other: Any, extra_pass: bool = False) -> None:
            now = time.perf_counter()
            while len(kept) < len(marks) and now - self.begun > marks[len(kept)]:
                topics = self.get_topics() if self.seen else None
                kept.append((marks[len(kept)], topics, 1, self.seen / len(documents)))
            if len(kept) == len(marks):
                raise _DoneError
            self.begun += time.perf_counter() - now
            self.seen += other.numdocs
            super().do_mstep(rho, other, extra_pass)

    model = Clocked(
        num_topics=num_topics,
        id2word={word: str(word) for word in range(train.shape[1])},
        workers=CORES,
        chunksize=chunk,
        passes=10**6,
        alpha=[PRIOR["doc_topic_prior"]] * num_topics,
        eta=ETA,
        decay=decay,
        offset=offset,
        eval_every=None,
        random_state=seed,
    )
    model.begun = time.perf_counter()
    start_up = model.begun - started
    with contextlib.suppress(_DoneError):
        model.update(documents)
    return start_up, kept


CONTESTANTS = {"geodrift": geodrift, "tomotopy": tomotopy, "sklearn": sklearn, "gensim": gensim}
OTHER_METHODS = {
    f"geodrift-{method}": functools.partial(geodrift, method=method)
    for method in ("scir", "sgrld", "sgrhmc", "sgld", "sghmc")
} | {"geodrift-hybrid": hybrid}
