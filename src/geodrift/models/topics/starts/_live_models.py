"""Topics of models in this process: of this package, gensim, tomotopy, BERTopic and scikit-learn."""

from typing import Any

import numpy as np

from geodrift._errors import InputError
from geodrift.models.topics.starts._bertopic import of_ctfidf
from geodrift.models.topics.starts._named_topics import NamedTopics


def topics_of_model(model: Any) -> NamedTopics:
    """Topics of an array, or of a fitted model, known by what it can be asked.

    Args:
        model: [J, V] or [C, J, V]; an estimator of this package, of which each chain's last draw is taken; a
            gensim ``LdaModel``; a tomotopy ``LDAModel`` or ``HDPModel``; a ``BERTopic``; anything that has
            ``components_``.

    Raises:
        InputError: It is nothing of these.
    """
    name = type(model).__name__
    if isinstance(model, np.ndarray | list):
        array = np.asarray(model, np.float32)
        return NamedTopics(array[None] if array.ndim == 2 else array, None, "the topics given")
    if hasattr(model, "topic_draws_"):
        draws = np.asarray(model.topic_draws_)
        chains = len(model.agreement_.cosines) if hasattr(model, "agreement_") else 1
        words = getattr(model, "feature_names_in_", None)
        last = draws.reshape(chains, -1, *draws.shape[1:])[:, -1]
        return NamedTopics(last, None if words is None else list(map(str, words)), f"a fitted {name}")
    if hasattr(model, "get_topics") and hasattr(model, "id2word"):
        topics, words = np.asarray(model.get_topics(), np.float32), model.id2word
        return NamedTopics(
            _normalised(topics), [str(words[i]) for i in range(topics.shape[1])], f"gensim's {name}"
        )
    if hasattr(model, "get_topic_word_dist") and hasattr(model, "used_vocabs"):
        alive = getattr(model, "is_live_topic", lambda topic: True)
        topics = np.array([model.get_topic_word_dist(k) for k in range(model.k) if alive(k)], np.float32)
        return NamedTopics(_normalised(topics), list(map(str, model.used_vocabs)), f"tomotopy's {name}")
    if hasattr(model, "c_tf_idf_") and hasattr(model, "vectorizer_model"):
        vocabulary = model.vectorizer_model.vocabulary_
        words = [""] * model.c_tf_idf_.shape[1]
        for word, column in vocabulary.items():
            words[column] = word
        diagonal = np.asarray(model.ctfidf_model._idf_diag.data)
        outliers = int(getattr(model, "_outliers", 0))
        return of_ctfidf(model.c_tf_idf_[outliers:], diagonal, words, "a BERTopic")
    if hasattr(model, "components_"):
        found = np.asarray(model.components_, np.float32)
        named = getattr(model, "feature_names_in_", None)
        return NamedTopics(
            _normalised(found), None if named is None else list(map(str, named)), f"a fitted {name}"
        )
    raise InputError(
        f"a {name} has no topics to start from that are known: give an array [topic, word], a fitted"
        " estimator, or a model of gensim, tomotopy, BERTopic or scikit-learn"
    )


def _normalised(topics: np.ndarray) -> np.ndarray:
    """One set of topics, rows of sum 1."""
    positive = np.maximum(topics, 0.0)
    return (positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-30))[None]
