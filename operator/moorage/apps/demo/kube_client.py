"""The API server as the demo's administrator sees it: one connection, JSON in, JSON out, nothing
asynchronous.

The operator's own session needs the Kubernetes client, which takes half a second to load; a demo
has to be there sooner.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

TIMEOUT_SECONDS = 10.0
"""For one request."""
JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"


class KubeClientError(Exception):
    """The API server refused a request, or gave no answer."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class KubeClient:
    """Requests one after another, from one thread."""

    def __init__(self, kubeconfig: Path) -> None:
        """Connects with the first request."""
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=_content(cluster, "certificate-authority"))
        if pem := client_pem(kubeconfig):
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as both:  # only we may read it
                both.write(pem)
                both.flush()
                context.load_cert_chain(both.name)
        self._headers = {"Accept": JSON, "User-Agent": "moorage-demo"}
        if token := user.get("token"):
            self._headers["Authorization"] = f"Bearer {token}"
        host = urllib.parse.urlsplit(cluster["server"]).netloc
        self._connection = http.client.HTTPSConnection(
            host, timeout=TIMEOUT_SECONDS, context=context
        )

    def get(self, path: str) -> Any:
        """What is there. Raises KubeClientError."""
        return self.request("GET", path)

    def items(self, path: str) -> list[Any]:
        """The items of a list."""
        return list(self.get(path)["items"])

    def create(self, path: str, body: Mapping[str, Any]) -> bool:
        """Make an object; False when there is one of its name already."""
        try:
            self.request("POST", path, body)
        except KubeClientError as error:
            if error.code != http.client.CONFLICT:
                raise
            return False
        return True

    def merge(self, path: str, patch: Mapping[str, Any]) -> Any:
        """Change an object by a merge patch."""
        return self.request("PATCH", path, patch, MERGE_PATCH)

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
    ) -> Any:
        """The decoded answer. Raises KubeClientError."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": content_type}
        try:
            status, answer = self._once_more(method, path, data, headers)
            decoded = json.loads(answer or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = str(error) or type(error).__name__
            raise KubeClientError(f"{method} {path}: {why}") from error
        if status >= http.client.BAD_REQUEST:
            raise KubeClientError(f"{method} {path}: {status} {decoded.get('message', '')}", status)
        return decoded

    def close(self) -> None:
        self._connection.close()

    def _once_more(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """A kept connection may have been closed by the other side meanwhile: that is noticed with
        the next request.
        """
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            return self._once(method, path, data, headers)
        self._connection.close()
        return self._once(method, path, data, headers)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, data, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except BaseException:
            # also Ctrl-C: an answer that was not read would be the next request's
            self._connection.close()
            raise


def client_pem(kubeconfig: Path) -> str:
    """The certificate and the key of a kubeconfig's user; "" where he has none."""
    user = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["users"][0]["user"]
    return _content(user, "client-certificate") + _content(user, "client-key")


def _content(section: Mapping[str, Any], field: str) -> str:
    """What a kubeconfig has as ``field``, a path, or within it as ``field-data``; "" when it has
    neither.
    """
    if data := section.get(f"{field}-data"):
        return base64.b64decode(data).decode()
    return Path(section[field]).read_text(encoding="utf-8") if section.get(field) else ""
