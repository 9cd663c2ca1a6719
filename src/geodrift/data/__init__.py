"""Corpora: counts of words in documents, in memory or in a directory that is read by memory map."""

from geodrift._errors import InputError as InputError
from geodrift.data._build import build_corpus as build_corpus
from geodrift.data._build import build_from_texts as build_from_texts
from geodrift.data._build import count_documents as count_documents
from geodrift.data._build import count_words as count_words
from geodrift.data._build import prune_columns as prune_columns
from geodrift.data._corpus import Corpus as Corpus
from geodrift.data._corpus import CorpusView as CorpusView
from geodrift.data._corpus import describe as describe
from geodrift.data._demo import demo_corpus as demo_corpus
from geodrift.data._documents import Document as Document
from geodrift.data._documents import DocumentTable as DocumentTable
from geodrift.data._formats import counts_format as counts_format
from geodrift.data._formats import read_counts_file as read_counts_file
from geodrift.data._sources import Source as Source
from geodrift.data._sources import find_sources as find_sources
from geodrift.data._sparse_archives import read_counts as read_counts
from geodrift.data._sparse_structure import as_csr as as_csr
from geodrift.data._text import TextOptions as TextOptions
from geodrift.data._text import parse_frequency as parse_frequency
from geodrift.data._text import read_stop_words as read_stop_words
from geodrift.data._vectors import VectorRows as VectorRows
from geodrift.data._vectors import VectorSource as VectorSource
from geodrift.data._vectors import VectorView as VectorView
from geodrift.data._verify import damage_of as damage_of
from geodrift.data._vocabulary import read_vocabulary as read_vocabulary
