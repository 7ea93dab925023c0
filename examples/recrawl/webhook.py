"""Print every alert that arrives at http://127.0.0.1:8086."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(alert["change"], alert["headline"], flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Print no line for each request."""


server = HTTPServer(("127.0.0.1", 8086), Webhook)
print("http://127.0.0.1:8086", flush=True)
server.serve_forever()
