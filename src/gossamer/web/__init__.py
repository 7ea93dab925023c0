"""The dashboard and the HTTP API. No rules inside: what is asked is answered by the use cases.

A route is one file in ``routes/``, found by being there. It has a ``ROUTES``::

    ROUTES = RouteGroup("Proxies")


    @ROUTES.read("/proxies", answer=ProxyPage, topic="proxies")
    async def list_proxies(parts: Parts, limit: Limit = 100) -> ProxyPage:
        \"\"\"How the proxies do.\"\"\"
        return await proxies.list_proxies(parts.settings, parts.backends, limit)

The answer is a record of ``queries/``, written by ``queries.documents.to_answer``: every field is in it,
times are seconds since the epoch, fields marked ``ASIDE`` are left out. ``read`` adds everything else: the
role that is needed (``role=``, by default ``read``), a time limit, an answer from memory for whoever asks
the same within a second, an ETag, schemas and errors in the OpenAPI document, and with ``topic`` a place in
the stream of events: ``/jobs/{job}/hosts`` as ``hosts`` is ``topics=hosts:ID`` or ``hosts:ID:only=held``.

What changes something is added by ``change`` in the same way. It needs the role ``operate``, and nothing of
it is remembered. ``caller: WhoAsks`` is who asks, ``job: JobName`` a job in the path.

What goes wrong is raised as the package's own errors; ``errors.py`` says which status each becomes.
"""
