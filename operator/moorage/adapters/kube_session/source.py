"""Where the API server is, and what proves who we are: a kubeconfig file, the pod's service
account, or an address alone.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import functools
import os
import re
import urllib.parse
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kubernetes.aio import client
from kubernetes.aio.config import incluster_config, kube_config

from moorage.adapters.kube_session import exec_plugin
from moorage.api import yaml_documents

RENEW_BEFORE_EXPIRY = datetime.timedelta(minutes=5)
"""A plugin's credential is asked for anew so long before it expires."""

Reload = Callable[[bool], Awaitable[None]]
"""Reads the credentials again; whether the API server has refused those in use."""


class KubeconfigError(Exception):
    """The API server cannot be reached with what was configured; the text says which file or flag
    to look at.
    """


def redacted(url: str) -> str:
    """An address to show: without the user and the password that it may have."""
    return re.sub(r"[^/\s]*@", "", url)


@dataclasses.dataclass(frozen=True, slots=True)
class KubeSource:
    """Where the connection is described: a kubeconfig file, else the pod's service account;
    ``master`` replaces the address. ``context`` is one of the file's; "" is its current one.
    ``kubeconfigs`` are several files instead, as the variable KUBECONFIG names them.

    ``authority`` is a file of certificates in the place of those of the source; where one is
    ``insecure``, any certificate will do.
    """

    kubeconfig: str = ""
    master: str = ""
    context: str = ""
    kubeconfigs: str = ""
    authority: str = ""
    insecure: bool = False

    async def load(self) -> tuple[client.Configuration, Reload]:
        """The configuration, and what reads its credentials again. Raises KubeconfigError."""
        configuration = client.Configuration()
        # The generated client would read ~/.netrc before every request.
        configuration.client_session_kwargs = {"trust_env": False}
        reload = functools.partial(self._reload, configuration, self._loader())
        try:
            await reload(False)
        except Exception as error:  # whatever the library meets in a file that a person wrote
            raise KubeconfigError(f"{self}: {error}") from error
        return configuration, reload

    async def _reload(
        self, configuration: client.Configuration, loader: Any, refused: bool
    ) -> None:
        if isinstance(loader, _Kubeconfig) and refused:
            loader.expires = None
        loaded = loader.load_and_set(configuration) if loader is not None else None
        if loaded is not None:
            await loaded
        if not str(configuration.api_key.get("BearerToken", "")).strip().isprintable():
            raise ValueError("the token holds a character that no header may hold")
        if self.master:
            configuration.host = self.master
        if self.authority or self.insecure:
            configuration.ssl_ca_cert = self.authority or None
            configuration.verify_ssl = not self.insecure
            configuration.tls_server_name = None
        _set_user_apart(configuration)

    def _loader(self) -> Any:
        """kubernetes.aio's loader for the source; None when only an address is given."""
        if self.kubeconfig:
            return _Kubeconfig.of(Path(self.kubeconfig), self.context)
        if self.kubeconfigs:
            return _Kubeconfig.joined(self.kubeconfigs, self.context)
        if self.master:
            return None
        files = incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME
        return incluster_config.InClusterConfigLoader(*files)  # type: ignore[no-untyped-call]

    def __str__(self) -> str:
        if self.kubeconfig:
            return f"--kubeconfig {self.kubeconfig}"
        if self.kubeconfigs:
            return f"KUBECONFIG={self.kubeconfigs}"
        return (
            f"--master {redacted(self.master)}"
            if self.master
            else "no --kubeconfig given and not in a pod"
        )


class _Kubeconfig(kube_config.KubeConfigLoader):
    """One file, whatever its name holds, with credential plugins that tell what goes wrong."""

    expires: datetime.datetime | None = None
    """When the plugin's credential does; None: it is not known, or there is none yet."""

    @classmethod
    def of(cls, file: Path, context: str = "") -> _Kubeconfig:
        """The loader of a file, for its current context unless one is named. Raises
        KubeconfigError.
        """
        if not file.is_file():
            raise KubeconfigError(f"--kubeconfig {file}: no such file")
        try:
            (document,) = yaml_documents.load_all(file.read_text(encoding="utf-8"))
            base = str(file.parent.absolute())
            return cls(document, active_context=context or None, config_base_path=base)
        except Exception as error:  # whatever the library meets in a file that a person wrote
            raise KubeconfigError(f"--kubeconfig {file}: not a kubeconfig file: {error}") from error

    @classmethod
    def joined(cls, files: str, context: str = "") -> _Kubeconfig:
        """The loader of several files, as kubectl joins them: who is named first keeps the name,
        and what is not there is passed over. Raises KubeconfigError.
        """
        there = [file for file in files.split(os.pathsep) if Path(file).is_file()]
        if not there:
            raise KubeconfigError(f"KUBECONFIG={files}: none of these files is there")
        try:
            joined = kube_config.KubeConfigMerger(os.pathsep.join(there))  # type: ignore[no-untyped-call]
            # the library takes the last file's
            current = [(one or {}).get("current-context") for one in joined.config_files.values()]
            named = context or next(filter(None, current))
            return cls(joined.config, active_context=named, config_base_path=None)
        except Exception as error:  # whatever the library meets in a file that a person wrote
            text = f"KUBECONFIG={files}: not kubeconfig files: {error!r}"
            raise KubeconfigError(text) from error

    async def load_from_exec_plugin(self) -> bool:
        """Ask the plugin, unless its last credential is good for some time. Raises
        ExecPluginError.
        """
        if (
            self.expires is None
            or self.expires <= datetime.datetime.now(datetime.UTC) + RENEW_BEFORE_EXPIRY
        ):
            credential = await exec_plugin.run_exec_plugin(self._user["exec"].value)  # type: ignore[index]
            self.expires = credential.expires
            if credential.token:
                self.token = f"Bearer {credential.token}"
            else:
                self.cert_file = _file(credential.certificate)
                self.key_file = _file(credential.key)
        return True


def _file(text: str) -> str:
    """A temporary file with this text, gone when the process ends; the same one for the same
    text.
    """
    given = kube_config.FileOrData(
        {"data": text}, None, data_key_name="data", base64_file_content=False
    )  # type: ignore[no-untyped-call]
    return str(given.as_file())  # type: ignore[no-untyped-call]


def _set_user_apart(configuration: client.Configuration) -> None:
    """Take user and password out of the address: it is logged and labels metrics. They are sent
    where there is no other credential.
    """
    url = urllib.parse.urlsplit(configuration.host)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(
            f"the API server's address {redacted(configuration.host)} does not begin with "
            f"https:// or http:// and a host"
        )
    configuration.host = url._replace(netloc=url.netloc.rpartition("@")[2]).geturl().rstrip("/")
    if url.username and not configuration.api_key.get("BearerToken"):
        pair = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
        configuration.api_key["BearerToken"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
