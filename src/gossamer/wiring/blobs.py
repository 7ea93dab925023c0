"""Opens the place of a URL for named bytes: a folder, or a bucket."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gossamer.blobs.folder import FolderBlobStore
from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.core.redaction import shown_server
from gossamer.install import install_command
from gossamer.ports.blob_store import BlobStore
from gossamer.runtime.known_secrets import remember_secrets

_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)


def open_blobs(url: str, settings: Settings) -> BlobStore:
    """Open the place of ``file:///DIR``, of a path, or of ``s3://BUCKET/PREFIX``.

    Raises ``SettingError`` for another URL, ``MissingServiceError`` without the package or the keys of S3.
    """
    folder = folder_of(url)
    return FolderBlobStore(folder) if folder is not None else _open_bucket(url, settings)


def folder_of(url: str) -> Path | None:
    """Return the folder of this machine that a URL or a path names; ``None``: it is in a bucket.

    Raises ``SettingError`` for a URL that is neither.
    """
    if "://" not in url:
        if not url:
            raise SettingError(
                "an empty path names no place: use a folder, file:///DIR or s3://BUCKET/PREFIX"
            )
        return Path(url)
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return Path(unquote(parts.path))
    if parts.scheme == "s3" and parts.netloc and "@" not in parts.netloc:
        return None
    raise SettingError(
        f"{shown_server(url)!r} names no place for files: use a folder, file:///DIR or s3://BUCKET/PREFIX"
    )


def _open_bucket(url: str, settings: Settings) -> BlobStore:
    try:
        module = import_module("gossamer.blobs.bucket")
    except ImportError as error:
        raise MissingServiceError(
            f"{url} needs another package ({error.name} is missing): {install_command('s3')}"
        ) from error
    if not any(os.environ.get(name) for name in _CREDENTIALS):
        raise MissingServiceError(
            f"{url}: there are no keys for it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            "environment"
        )
    remember_secrets(value for name in _SECRETS if (value := os.environ.get(name)))
    parts, said = urlsplit(url), settings.s3
    store: BlobStore = module.BucketBlobStore(
        parts.netloc,
        parts.path.strip("/"),
        endpoint=said.endpoint,
        region=said.region,
        allow_http=said.allow_http or os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true",
    )
    return store
