"""The dashboard and the HTTP API. No rules inside: the use cases answer all requests.

A route is one file in ``routes/``, found by being there. It has a ``ROUTES``::

    ROUTES = RouteGroup("Proxies")


    @ROUTES.read("/proxies", answer=ProxyPage, topic="proxies")
    async def list_proxies(parts: Parts, limit: Limit = 100) -> ProxyPage:
        \"\"\"How the proxies do.\"\"\"
        return await proxies.list_proxies(parts.settings, parts.backends, limit)

The answer is a record of ``queries/``, written by ``queries.documents.to_answer``: every field is in it,
times are seconds since the epoch, fields marked ``ASIDE`` are left out. ``read`` adds everything else: the
required role (``role=``, by default ``read``), a time limit, a cached answer for the same request
within a second, an ETag, schemas and errors in the OpenAPI document, and with ``topic`` a place in
the stream of events: ``/jobs/{job}/hosts`` as ``hosts`` is ``topics=hosts:ID`` or ``hosts:ID:only=held``.

``change`` adds a route that changes something in the same way. It needs the role ``operate``, and its answers
are not cached. ``caller: WhoAsks`` is the caller, ``job: JobName`` a job in the path.

Routes raise the package's own errors; ``errors.py`` has the status of each.
"""
