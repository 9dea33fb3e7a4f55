"""The fingerprint of a cell's code, for who hands a notebook out and who marks it: neither loads the other."""

import hashlib

__all__ = ["code_digest"]


def code_digest(code: str) -> str:
    """Return a short fingerprint of a cell's code, to tell whether it is still what was handed out."""
    return hashlib.sha256("\n".join(code.splitlines()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
