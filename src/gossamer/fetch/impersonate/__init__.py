"""The rung ``impersonate``: HTTP/1.1 and HTTP/2 with the TLS, the settings and the headers of a browser."""
