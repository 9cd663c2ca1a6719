"""Simulated documents for the benchmarks of reading: words as frequent as those of a language."""

import json
import pathlib

import numpy as np

TOPICS, TOPICS_A_DOCUMENT = 100, 3
SPREAD = 1.0  # of the logarithms of ranks, between topics


def word_strings(number: int, rng: np.random.Generator) -> list[str]:
    """Different words of four to ten letters."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    found: dict[str, None] = {}
    while len(found) < number:
        length = int(rng.integers(4, 11))
        found["".join(letters[rng.integers(26, size=length)])] = None
    return list(found)


class Language:
    """Topics whose words have Zipf's law, each in an order of its own.

    Args:
        num_words: V.
        seed: Of the words, of their orders and of the documents.
    """

    def __init__(self, num_words: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.words = np.array(word_strings(num_words, self.rng))
        self._shares = np.cumsum(1.0 / np.arange(1, num_words + 1))
        ranks = np.log(np.arange(1, num_words + 1))
        noise = self.rng.standard_normal((TOPICS, num_words), dtype=np.float32)
        self._orders = np.stack([np.argsort(ranks + SPREAD * row).astype(np.int32) for row in noise])

    def documents(self, number: int, length: int) -> np.ndarray:
        """Word numbers, [number, length]."""
        chosen = self.rng.integers(TOPICS, size=(number, TOPICS_A_DOCUMENT))
        which = self.rng.integers(TOPICS_A_DOCUMENT, size=(number, length))
        topics = np.take_along_axis(chosen, which, axis=1)
        places = np.searchsorted(self._shares, self._shares[-1] * self.rng.random(topics.shape))
        return self._orders[topics, places]

    def topic_probabilities(self) -> np.ndarray:
        """Probability of each word in each topic, [TOPICS, V] float32."""
        shares = (1.0 / np.arange(1, len(self.words) + 1)) / self._shares[-1]
        out = np.empty(self._orders.shape, np.float32)
        np.put_along_axis(out, self._orders, np.broadcast_to(shares, out.shape).astype(np.float32), axis=1)
        return out


def write_jsonl(path: pathlib.Path, language: Language, documents: int, length: int) -> None:
    """One record a document: id, year, and text."""
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, documents, 10_000):
            block = language.documents(min(10_000, documents - start), length)
            for number, row in enumerate(language.words[block], start):
                record = {"id": f"d{number}", "year": 1990 + number % 30, "text": " ".join(row)}
                stream.write(json.dumps(record) + "\n")
