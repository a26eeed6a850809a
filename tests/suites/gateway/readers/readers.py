"""Prints, for each URI of stdin (one JSON string a line), the paths that servers in Python could read for it.

With the argument `names`, prints what servers with URIs such as `notes://name` could read; with `paths`, what those with `notes:///name` could."""

import json
import posixpath
import re
import sys
from pathlib import PurePosixPath
from urllib.parse import unquote, unquote_plus, urlparse, urlsplit
from urllib.request import url2pathname


def strip_scheme(uri):
    return uri[len("file://") :] if uri.lower().startswith("file://") else None


def path_of(parts):
    return parts.path if parts.scheme == "file" else None


READERS = [
    lambda uri: unquote(path_of(urlsplit(uri))),
    lambda uri: unquote(path_of(urlparse(uri))),
    lambda uri: path_of(urlsplit(unquote(uri))),
    lambda uri: path_of(urlsplit(unquote(unquote(uri)))),
    lambda uri: url2pathname(path_of(urlparse(uri))),
    lambda uri: unquote(strip_scheme(uri)),
    # A name with an escape is another file for a server that does not decode it.
    lambda uri: strip_scheme(uri) if "%" not in uri else None,
    lambda uri: unquote(path_of(urlsplit(uri.strip()))),
]


def paths(uri):
    for reader in READERS:
        try:
            path = reader(uri)
            if path.startswith("/"):
                yield posixpath.normpath(path)
                yield posixpath.normpath(str(PurePosixPath(path)))
        except (ValueError, TypeError, AttributeError):
            # This server refuses the URI.
            continue


def names(uri):
    for text in (uri, unquote(uri), unquote(unquote(uri))):
        try:
            parts = urlparse(text)
            yield (parts.hostname or "") + "/" + parts.path
            yield parts.netloc + "/" + parts.path
            yield (parts.hostname or "") + unquote(parts.path)
            if IGNORES_HOST or not parts.netloc:
                yield parts.path
        except ValueError:
            # This server refuses the URI.
            pass
        yield text.partition("://")[2]
        yield text.partition(":")[2]
        # As SQLAlchemy: the text before `@` is a user and a password, which can have `/`.
        parts = re.match(r"\w+://(?:[^:/]*(?::[^@]*)?@)?([^/:?]*)(?::\d*)?(/?[^?]*)", text)
        if parts:
            yield parts[1] + parts[2]
            yield (parts[1] + "/".join(part.strip() for part in parts[2].split("/"))).casefold()
    yield unquote_plus(uri.partition("://")[2]).strip().casefold()


IGNORES_HOST = sys.argv[1:] == ["paths"]
READ = names if sys.argv[1:] else paths
for line in sys.stdin:
    print(json.dumps(sorted(set(READ(json.loads(line))))))
