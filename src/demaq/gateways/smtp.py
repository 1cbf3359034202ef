"""Messages that go out by mail."""

import smtplib
import socket
import ssl
from urllib.parse import urlsplit

from demaq.gateways.destinations import mail_address, shown
from demaq.gateways.mail import mail_of
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.gateways.threads import Threads
from demaq.model import MailSettings

_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
SCHEMES = tuple(_PORTS)
_AT_ONCE = 32  # mails
_CLOSING = 421  # the code of a server that ends the connection


class SmtpTransport(Threads):
    """Gives mail to a server, which brings it to whom it is for."""

    def __init__(self, settings: MailSettings) -> None:
        super().__init__(_AT_ONCE, "mail")
        self._settings = settings

    async def send(self, parcel: Parcel) -> None:
        """Send a message by mail; raises `Undelivered`."""
        to = mail_address(parcel.to)
        if to is None:
            text = f"{shown(parcel.to)} is not the address of one who gets mail"
            raise Undelivered("disconnectedTransport", text, is_final=True)
        await self.run(self._send, parcel, to)

    def _send(self, parcel: Parcel, to: str) -> None:
        mail = mail_of(parcel.message, to, self._settings.sender, parcel.identity)
        timeout = parcel.settings.timeout.total_seconds()
        server = urlsplit(self._settings.server)
        where = f"the mail server {server.hostname}"
        try:
            with self._connected(timeout) as smtp:
                smtp.send_message(mail, self._settings.sender, [to])
        except socket.gaierror as error:
            raise Undelivered("nameResolution", f"{where}: its host is not known") from error
        except TimeoutError as error:
            raise Undelivered("timeout", f"{where} did not answer in time") from error
        except (ssl.SSLError, smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError) as error:
            raise Undelivered("security", f"{where}: {_reason(error)}") from error
        except smtplib.SMTPRecipientsRefused as error:
            ((code, reason),) = error.recipients.values()
            raise _refused(where, code, reason) from error
        except smtplib.SMTPConnectError as error:
            description = f"{where} answered {error.smtp_code}: {_text(error.smtp_error)}"
            raise Undelivered("httpStatus", description, is_final=error.smtp_code >= 500) from error
        except smtplib.SMTPResponseException as error:
            raise _refused(where, error.smtp_code, error.smtp_error) from error
        except (OSError, smtplib.SMTPException) as error:
            raise Undelivered("disconnectedTransport", f"{where} cannot be reached: {_reason(error)}") from error

    def _connected(self, timeout: float) -> smtplib.SMTP:
        server = urlsplit(self._settings.server)
        host, port = server.hostname or "localhost", server.port or _PORTS[server.scheme]
        if server.scheme == "smtps":
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=timeout, context=ssl.create_default_context())
        else:
            smtp = smtplib.SMTP(host, port, timeout=timeout)
        try:
            if server.scheme == "smtp+tls":
                smtp.starttls(context=ssl.create_default_context())
            if self._settings.user is not None:
                smtp.login(self._settings.user, self._settings.password or "")
        except BaseException:
            smtp.close()
            raise
        return smtp


def _refused(where: str, code: int, reason: bytes | str) -> Undelivered:
    """A server has said no to a mail: for ever with 5xx, for now with 4xx; or that it goes, which is about all mail."""
    description = f"{where} answered {code}: {_text(reason)}"
    return Undelivered("httpStatus", description, is_final=code >= 500, is_answer=code != _CLOSING)


def _text(reason: bytes | str) -> str:
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
    return " ".join(text.split())


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
