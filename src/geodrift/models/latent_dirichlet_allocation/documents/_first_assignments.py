r"""Where the assignments of a document begin: near the mode of its mixture.

Tokens that are given a topic one by one, each given those before it, are soon nearly all of one topic. Where
topics are alike, another one's share grows by a few percent a sweep from there: a document of 20,000 words
would need hundreds of sweeps. So the mixture is brought near its mode first, by

.. math:: \theta_k \leftarrow \frac{1}{n_d + \sum_j \alpha_j}
    \Big(\alpha_k + \sum_w n_{dw} \frac{\theta_k \pi_{kw}}{\sum_j \theta_j \pi_{jw}}\Big),

and tokens begin in topics in proportion to :math:`\theta_k \pi_{kw}`. A pass costs K numbers for each
different word, and not for each token: it is left out where a document has few tokens for that.
"""

import math

import numba
import numpy as np

MOST_NUMBERS = 40  # of a pass, for each token of the document: where it has more, sweeps are soon there
MOST_PASSES = 500
# A pass that moves no share by more than this over the root of the number of tokens is the last. What is left
# to go is a quarter of a standard deviation then, where only a twentieth of what is known of a mixture is.
CLOSE = 0.03
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@numba.njit(cache=True, error_model="numpy")
def begin_near_mode(
    counts: np.ndarray, topics: np.ndarray, prior: np.ndarray, prior_sum: float, assignments: np.ndarray
) -> bool:
    """Give a document's tokens their first topics, if passes over its words are worth their time.

    Args:
        counts: Of each of its different words.
        topics: pi of these words, [word, topic].
        prior: alpha.
        prior_sum: Sum of alpha.
        assignments: A word's tokens side by side; filled in.

    Returns:
        Whether that was done.
    """
    tokens, (num_words, num_topics) = assignments.shape[0], topics.shape
    if num_topics == 1 or num_words * num_topics > MOST_NUMBERS * tokens:
        return False
    mixture = prior / prior_sum
    close, norm = CLOSE / math.sqrt(tokens), tokens + prior_sum
    for _ in range(MOST_PASSES):
        following = prior.copy()
        for word in range(num_words):
            total = 0.0
            for topic in range(num_topics):
                total += mixture[topic] * topics[word, topic]
            scale = counts[word] / total if total > 0.0 else 0.0
            for topic in range(num_topics):
                following[topic] += scale * mixture[topic] * topics[word, topic]
        change = 0.0
        for topic in range(num_topics):
            following[topic] /= norm
            change = max(change, abs(following[topic] - mixture[topic]))
        mixture = following
        if change < close:
            break
    _assign_in_proportion(counts, topics, mixture, assignments)
    return True


@numba.njit(cache=True, error_model="numpy")
def _assign_in_proportion(
    counts: np.ndarray, topics: np.ndarray, mixture: np.ndarray, assignments: np.ndarray
) -> None:
    """Topics of tokens at points that fill [0, 1] evenly: each gets its share up to a few tokens."""
    num_topics, token, point = topics.shape[1], 0, 0.5
    upto = np.empty(num_topics)
    for word in range(topics.shape[0]):
        total = 0.0
        for topic in range(num_topics):
            total += mixture[topic] * topics[word, topic]
            upto[topic] = total
        for _ in range(counts[word]):
            point += _GOLDEN
            point -= math.floor(point)
            topic = np.searchsorted(upto, point * total, side="right")
            assignments[token] = min(topic, num_topics - 1)
            token += 1
