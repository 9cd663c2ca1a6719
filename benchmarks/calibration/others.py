"""What other programs' posteriors of LDA's topics imply: a Dirichlet distribution of each topic.

Of the variational ones it is their posterior; of tomotopy, which keeps one state of a collapsed Gibbs
sampler, that of the topics given this state's assignments.
"""

import warnings

import numpy as np
from fits import SAME
from ranks import add_probabilities, tally
from scipy import stats
from scipy.optimize import linear_sum_assignment

LEAST = 1e-3  # mean from which on a word of a topic is counted


def sklearn(counts, num_topics, alpha, eta, seed):
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(
        num_topics, doc_topic_prior=alpha, topic_word_prior=eta, max_iter=50, random_state=seed
    )
    return model.fit(counts).components_


def gensim(counts, num_topics, alpha, eta, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = list(Sparse2Corpus(counts, documents_columns=False))
    names = {word: str(word) for word in range(counts.shape[1])}
    model = LdaModel(corpus, num_topics, names, passes=50, iterations=100, chunksize=len(corpus),
                     alpha=[alpha] * num_topics, eta=eta, random_state=seed)  # fmt: skip
    return model.state.get_lambda()


def tomotopy(counts, num_topics, alpha, eta, seed):
    import tomotopy

    warnings.filterwarnings("ignore", message="The training result may differ")
    model = tomotopy.LDAModel(k=num_topics, alpha=alpha, eta=eta, seed=seed)
    model.optim_interval = 0
    for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        words = np.repeat(counts.indices[first:last], counts.data[first:last])
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(800, workers=1)
    shapes = np.full((num_topics, counts.shape[1]), eta)
    totals, seen = model.get_count_by_topics(), np.array(model.used_vocabs, int)
    for topic in range(num_topics):
        smoothed = model.get_topic_word_dist(topic) * (totals[topic] + eta * len(seen))
        shapes[topic, seen] = np.maximum(smoothed, eta)
    return shapes


OTHERS = {"sklearn": sklearn, "gensim": gensim, "tomotopy": tomotopy}


def places_in(shapes, topics):
    """A tally of the true topics' words in Dirichlet distributions, [topic, word] both."""
    means = shapes / shapes.sum(axis=1, keepdims=True)
    cosines = np.sqrt(topics) @ np.sqrt(means).T
    counts = tally()
    for true, topic in zip(*linear_sum_assignment(-cosines), strict=True):
        words = np.flatnonzero(means[topic] > LEAST)
        if cosines[true, topic] > SAME:
            law = stats.beta(shapes[topic, words], shapes[topic].sum() - shapes[topic, words])
            add_probabilities(counts, law.cdf(topics[true, words]))
        else:
            counts[-1] += len(words)
    return counts
