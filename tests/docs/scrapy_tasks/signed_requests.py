import hashlib
import hmac
import os
from urllib.parse import urlsplit

import scrapy
from w3lib.http import basic_auth_header


class SignatureMiddleware:
    def process_request(self, request):
        key = os.environ["CLUB_KEY"].encode()
        request.headers["X-Signature"] = hmac.new(key, request.url.encode(), hashlib.sha256).hexdigest()


class AuthMiddleware:
    def __init__(self):
        user, password = os.environ["CLUB_LOGIN"].split(":")
        self.headers = {
            "127.0.0.1": f"Bearer {os.environ['CLUB_TOKEN']}",
            "localhost": basic_auth_header(user, password),
        }

    def process_request(self, request):
        host = urlsplit(request.url).hostname
        if host in self.headers:
            request.headers["Authorization"] = self.headers[host]


class Signed(scrapy.Spider):
    name = "signed"
    start_urls = ["http://127.0.0.1:8085/signed/1", "http://localhost:8085/signed/1"]
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {AuthMiddleware: 310, SignatureMiddleware: 320}}

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}
        yield from response.follow_all(css="a.next")
