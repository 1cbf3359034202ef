"""TLS, with the certificate that is configured."""

import ssl

from demaq.model import ServerSettings


def encryption(server: ServerSettings) -> ssl.SSLContext | None:
    """How connections are encrypted; None without a certificate. Raises `OSError` if that, or its key, is of no use."""
    if server.certificate is None:
        return None
    found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    found.load_cert_chain(server.certificate, server.key)
    return found
