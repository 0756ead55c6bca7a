"""The file formats pairs come in, one module each; every class streams records (`records.Corpus`)."""

from regard.data.formats.hugging_face import HuggingFace
from regard.data.formats.jsonl import JsonLines
from regard.data.formats.parquet import Parquet
from regard.data.formats.plain import TwoFiles
from regard.data.formats.saved_dataset import SavedDataset
from regard.data.formats.tmx import Tmx
from regard.data.formats.tsv import Csv, Tsv

__all__ = ["Csv", "HuggingFace", "JsonLines", "Parquet", "SavedDataset", "Tmx", "Tsv", "TwoFiles"]
