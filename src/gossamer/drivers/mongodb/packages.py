"""Imports PyMongo; without it, an error says which package to install."""

from __future__ import annotations

from gossamer.core.errors import MissingServiceError
from gossamer.install import install_command

try:
    from bson import Int64, encode
    from bson import errors as encoding
    from bson.codec_options import CodecOptions, TypeDecoder, TypeRegistry
    from pymongo import (
        AsyncMongoClient,
        IndexModel,
        InsertOne,
        ReadPreference,
        ReturnDocument,
        UpdateOne,
        WriteConcern,
    )
    from pymongo import errors as driver
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.asynchronous.database import AsyncDatabase
    from pymongo.read_concern import ReadConcern
    from pymongo.uri_parser import parse_uri
except ImportError:
    raise MissingServiceError(
        f"the settings name MongoDB, but its driver is missing: {install_command('mongo')}"
    ) from None

__all__ = [
    "AsyncCollection",
    "AsyncDatabase",
    "AsyncMongoClient",
    "CodecOptions",
    "IndexModel",
    "InsertOne",
    "Int64",
    "ReadConcern",
    "ReadPreference",
    "ReturnDocument",
    "TypeDecoder",
    "TypeRegistry",
    "UpdateOne",
    "WriteConcern",
    "driver",
    "encode",
    "encoding",
    "parse_uri",
]
