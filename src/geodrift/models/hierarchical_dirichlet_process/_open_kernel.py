r"""Folding in under topics of which the last is not known: draws of assignments, compiled.

With that topic integrated out, :math:`\phi_o \sim \mathrm{Dirichlet}(c\, m)`, token i of word w has

.. math:: p(z_i = k \mid z_{-i}) \propto (\alpha_k + n_{dk}^{-i})\, \pi_{kw}, \qquad
    p(z_i = o \mid z_{-i}) \propto (\alpha_o + n_{do}^{-i})\, \frac{c\, m_w + n_{dow}^{-i}}{c + n_{do}^{-i}},

where n_dow counts the document's own tokens of the word in it. The other topics are drawn as in
`_assignment_kernel` of LDA.
"""

import numba
import numpy as np

from geodrift.kernels._random_streams import next_word, open_member
from geodrift.kernels._two_forms import TwoForms
from geodrift.models.latent_dirichlet_allocation.documents._assignment_kernel import TO_UNIT, above
from geodrift.models.latent_dirichlet_allocation.documents._first_assignments import begin_near_mode


@numba.njit(cache=True, error_model="numpy")
def _number(
    counts: np.ndarray,
    assignments: np.ndarray,
    last: int,
    numbers: np.ndarray,
    present: np.ndarray,
    place: np.ndarray,
    in_open: np.ndarray,
) -> int:
    """Count a document's assignments: n_dk and n_dow; the known topics that it has, and how many."""
    numbers[:] = 0
    in_open[:] = 0
    size, token = 0, 0
    for entry in range(counts.shape[0]):
        for topic in assignments[token : token + counts[entry]]:
            if topic == last:
                in_open[entry] += 1
            elif numbers[topic] == 0:
                present[size], place[topic] = topic, size
                size += 1
            numbers[topic] += 1
        token += counts[entry]
    return size


@numba.njit(cache=True, error_model="numpy")
def _sweeps(
    words: np.ndarray,
    counts: np.ndarray,
    assignments: np.ndarray,
    topics: np.ndarray,
    tables: np.ndarray,
    of_open: tuple,
    num_sweeps: int,
    first: bool,
    stream: np.uint64,
    numbers: np.ndarray,
    present: np.ndarray,
    place: np.ndarray,
    sums: np.ndarray,
    in_open: np.ndarray,
) -> None:
    """`sweeps_of_document`; ``of_open`` are alpha_o and c of the last topic, and ``in_open`` gets n_dow."""
    (alpha, spread), last = of_open, topics.shape[1] - 1
    size = _number(
        counts[: 0 if first else words.shape[0]], assignments, last, numbers, present, place, in_open
    )
    for sweep in range(num_sweeps):
        token = 0
        for entry in range(words.shape[0]):
            row, table = topics[words[entry]], tables[words[entry]]
            for _ in range(counts[entry]):
                if not (first and sweep == 0):
                    topic = np.int64(assignments[token])
                    numbers[topic] -= 1
                    if topic == last:
                        in_open[entry] -= 1
                    elif numbers[topic] == 0:
                        size -= 1
                        moved = present[size]
                        present[place[topic]], place[moved] = moved, place[topic]
                own = np.float32(0.0)
                for i in range(size):
                    own += np.float32(numbers[present[i]]) * row[present[i]]
                    sums[i] = own
                known = own + table[last - 1]
                opened = (in_open[entry] + spread * row[last]) / (numbers[last] + spread)
                bits, stream = next_word(stream)
                whole = known + np.float32((numbers[last] + alpha) * opened)
                at = np.float32(bits >> np.uint64(40)) * TO_UNIT * whole
                topic = np.int64(last)
                if at < own:
                    i = 0
                    while sums[i] <= at:
                        i += 1
                    topic = np.int64(present[i])
                elif at < known:
                    topic = np.int64(above(table[:last], at - own))
                if topic == last:
                    in_open[entry] += 1
                elif numbers[topic] == 0:
                    present[size], place[topic] = topic, size
                    size += 1
                numbers[topic] += 1
                assignments[token] = topic
                token += 1


@numba.njit(cache=True, error_model="numpy")
def _of_document(
    row: int,
    documents: tuple,
    assignments: np.ndarray,
    of_topics: tuple,
    spread: float,
    plan: tuple,
    families: np.ndarray,
    totals: np.ndarray,
    kept: np.ndarray,
    held: tuple,
    out: np.ndarray,
) -> None:
    """`_fold_in` of one document; where nothing is scored it begins near its mode, of m as the last topic."""
    items, indptr, words, counts, bounds = documents
    topics, tables, prior, prior_sum = of_topics
    (burn_in, first, of_mean), (ends, places, means) = plan, held
    entries = slice(indptr[row], indptr[row + 1])
    own = assignments[bounds[row] : bounds[row + 1]]
    num_topics, last = topics.shape[1], topics.shape[1] - 1
    numbers = np.empty(num_topics, np.int32)
    present = np.empty(num_topics, np.int32)
    place = np.empty(num_topics, np.int32)
    sums = np.empty(num_topics, np.float32)
    in_open = np.empty(indptr[row + 1] - indptr[row], np.int32)
    norm = np.float64(own.shape[0]) + prior_sum
    if first and out.size == 0:  # a score begins anew under each draw: too often for passes over words
        first = not begin_near_mode(counts[entries], topics[words[entries]], prior, prior_sum, own)
    before = own
    for call in range(families.shape[0]):
        _sweeps(
            words[entries],
            counts[entries],
            own,
            topics,
            tables,
            (prior[last], spread),
            1 if call > 0 else burn_in,
            first and call == 0,
            open_member(families[call], items[row]),
            numbers,
            present,
            place,
            sums,
            in_open,
        )
        if 0 < call <= of_mean:
            for topic in range(num_topics):
                totals[row, topic] += (np.float64(numbers[topic]) + prior[topic]) / norm
            share = (numbers[last] + prior[last]) / norm / (numbers[last] + spread)
            for entry in range(ends[row], ends[row + 1]):
                seen = in_open[places[entry]] if places[entry] >= 0 else 0
                out[entry] += share * (seen + spread * means[entry])
        if call == of_mean and call < families.shape[0] - 1:
            before = own.copy()
        if call > 0 and kept.size > 0:
            for topic in range(num_topics):
                kept[call - 1, row, topic] = numbers[topic]
    for token in range(own.shape[0] if families.shape[0] - 1 > of_mean else 0):
        own[token] = before[token]


def _fold_in(
    documents: tuple,
    assignments: np.ndarray,
    of_topics: tuple,
    spread: float,
    plan: tuple,
    families: np.ndarray,
    totals: np.ndarray,
    kept: np.ndarray,
    held: tuple,
    out: np.ndarray,
) -> None:
    """`_add_mixtures` of LDA; to ``out`` the last topic's part of p(w | d) is added after the same sweeps.

    ``of_topics`` are the topics, their tables, alpha and its sum; ``plan`` the sweeps that are dropped,
    whether they are the documents' first, and the number of those of the mean. ``held`` are the ends of the
    documents' held-out entries, the place of each among the document's own entries, or -1, and m of its word.
    """
    for row in numba.prange(documents[0].shape[0]):
        _of_document(row, documents, assignments, of_topics, spread, plan, families, totals, kept, held, out)


fold_in = TwoForms(_fold_in, worth_threads=10_000)
