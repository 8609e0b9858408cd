"""Which machines a study may lead to: an address that it names, and from there on only what is public."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

KNOWN = {"http", "https", "s3", "gs", "gcs", "memory"}
CONNECT_SECONDS, SILENCE_SECONDS = 20.0, 60.0
METADATA = {"metadata.google.internal", "metadata"}
NEVER = (
    "leads to {0}, where clouds keep the keys of a machine, or to no machine at all. It was not asked: name the "
    "address of the data."
)
INSIDE = (
    "leads on to {0}, which is inside this machine or its network. It was not asked: name that address itself if you "
    "trust it."
)


class Way:
    """The way to an address: every connection is looked at when it is made, wherever names and redirects lead."""

    def __init__(self, address: str) -> None:
        self.refused = ""
        parts = urlsplit(address)
        self.is_web = parts.scheme.lower() in {"http", "https"}
        self.host = (parts.hostname or "").lower().rstrip(".")
        self.known: set[str] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What fsspec is to be given for this address."""
        return {"get_client": self._client, "skip_instance_cache": True} if self.is_web else {}

    async def _client(self, **settings: Any) -> Any:
        import aiohttp

        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        connector = aiohttp.TCPConnector(socket_factory=self._opened)
        return aiohttp.ClientSession(**{"timeout": limits, **settings, "connector": connector})

    def _opened(self, place: Any) -> socket.socket:
        family, kind, protocol, _, where = place
        if why := self.mistake(str(where[0])):
            self.refused = self.refused or why
            raise PermissionError(why)
        found = socket.socket(family, kind, protocol)
        found.setblocking(False)
        return found

    def mistake(self, where: str) -> str:
        """Why no connection is made to an IP address; empty if one is."""
        found = _plain(where)
        if self.host in METADATA or found.is_link_local or found.is_multicast or found.is_unspecified:
            return NEVER.format(where)
        return "" if found.is_global or where in self._named() else INSIDE.format(where)

    def _named(self) -> set[str]:
        """The IP addresses of the machine that the study itself names."""
        if self.known is None:
            try:
                self.known = {str(each[4][0]) for each in socket.getaddrinfo(self.host, None)}
            except OSError:
                self.known = set()
        return self.known


def _plain(where: str) -> IPv4Address | IPv6Address:
    """An IP address, also where it is wrapped in one of the other kind."""
    found = ip_address(where.partition("%")[0])
    return (found.ipv4_mapped or found.sixtofour or found) if isinstance(found, IPv6Address) else found
