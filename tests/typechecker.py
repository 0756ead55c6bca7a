"""Beartype as type checkers are: an int will do where a float is asked for (PEP 484's numeric tower)."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
