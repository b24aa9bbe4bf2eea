"""A web server on this machine that misbehaves when a test asks for it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serve bytes by path and remember what was asked.

    Parameters
    ----------
    files
        Contents by path, without the leading slash.
    """

    def __init__(self, files):
        self.files = dict(files)
        self.cut_after = None  # bytes of a body after which the connection is closed
        self.status = None  # answer this and nothing else
        self.requests = 0

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def address(self):
        return f"http://127.0.0.1:{self._server.server_port}"


class _Handler(BaseHTTPRequestHandler):
    site: Server

    def do_GET(self):
        self.site.requests += 1
        content = self.site.files.get(self.path.lstrip("/"))
        status = self.site.status or (404 if content is None else 200)
        if status != 200:
            self.send_error(status)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.site.cut_after])

    def log_message(self, *_):
        """Stay silent."""
