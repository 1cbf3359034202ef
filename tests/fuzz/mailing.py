"""Bad input by mail: letters, and what is said to a mail server."""

import re
import smtplib
import time
from random import Random

from fuzz import samples
from fuzz.application import MAILBOX, STRICT
from fuzz.node import Fuzzed
from fuzz.spoiling import spoiled, spoiled_bytes
from fuzz.tally import INSIDE, Tally

_SLOW = 60.0  # seconds after which nobody waits any longer
_SAID = (
    *(
        "NOOP",
        "VRFY x",
        "HELP",
        "RSET",
        "EXPN x",
        "AUTH PLAIN",
        "STARTTLS",
        "MAIL FROM:",
        "RCPT TO:<x>",
        "DATA x",
        "\x01",
    ),
    *("MAIL FROM:<a@b> SIZE=x", "MAIL FROM:<a@b> SIZE=99999999999", "MAIL FROM:<é@b> SMTPUTF8", "EHLO", "HELO x y", ""),
    *("RCPT TO:<orders@example.org> X=Y", "MAIL FROM:<a@b> BODY=BINARYMIME", "x" * 600, "BDAT 5 LAST", "mail from: a"),
)
_SENDERS = ("ada@example.org", "", "é@example.org", "a" * 300, '"a b"@x', "a@[127.0.0.1]", "x@y z")
_DONE = re.compile(rb"OK ([\d, ]+)")


class Sender:
    """Somebody who sends mail, over a connection that stays open as long as the server likes."""

    def __init__(self, node: Fuzzed, tally: Tally, chance: Random) -> None:
        self._node = node
        self._tally = tally
        self._chance = chance
        self._open: smtplib.SMTP | None = None

    def send(self) -> None:
        began = time.monotonic()
        try:
            if self._open is None:
                self._open = smtplib.SMTP("127.0.0.1", self._node.mail, local_hostname="fuzz", timeout=_SLOW)
                self._open.ehlo()
            code = self._said() if self._chance.random() < 0.1 else self._sent()
            self._tally.note(code, time.monotonic() - began)
        except smtplib.SMTPServerDisconnected:
            self.close()
            self._tally.note("closed", time.monotonic() - began)  # after too much that was wrong
        except (OSError, smtplib.SMTPException, UnicodeError) as error:
            self.close()
            self._tally.wrong(f"mail: {error!r}")

    def _said(self) -> int:
        """A command that is wrong."""
        assert self._open is not None
        text = self._chance.choice(_SAID)
        data = spoiled_bytes(self._chance, text.encode()) if self._chance.random() < 0.3 else text.encode()
        self._open.sock.sendall(data.replace(b"\r", b"").replace(b"\n", b"") + b"\r\n")  # type: ignore[union-attr]
        code, answer = self._open.getreply()
        self._look(code, answer, data)
        if code == 354:
            self._open.sock.sendall(b".\r\n")  # type: ignore[union-attr]
            code, answer = self._open.getreply()
            self._look(code, answer, data)
        self._open.ehlo()  # which begins anew
        return code

    def _sent(self) -> int:
        """A letter that is wrong, or what is in it."""
        assert self._open is not None
        documents = (*samples.ORDERS, *samples.ENVELOPES)
        data = self._letter(documents)
        sender = self._chance.choice(_SENDERS) if self._chance.random() < 0.1 else _SENDERS[0]
        for code, answer in (self._open.mail(sender, ["SMTPUTF8"]), *map(self._open.rcpt, self._recipients())):
            self._look(code, answer, sender)
            if code >= 400:
                self._open.rset()
                return code
        code, answer = self._open.data(data)
        self._look(code, answer, data)
        if code == 250:
            self._accept(answer)
        return code

    def _letter(self, documents: tuple[str, ...]) -> bytes:
        text = self._chance.choice(documents)
        if self._chance.random() < 0.5:
            document = spoiled(self._chance, text, documents).decode("utf-8", "replace")
            return samples.mail(self._chance, document).encode("utf-8", "replace")
        return spoiled_bytes(self._chance, samples.mail(self._chance, text).encode())

    def _recipients(self) -> list[str]:
        found = [self._chance.choice((MAILBOX, MAILBOX, MAILBOX.upper(), STRICT))]
        if self._chance.random() < 0.1:
            found.append(self._chance.choice(("nobody@example.org", STRICT, MAILBOX, "é", "x" * 200)))
        return found

    def _accept(self, answer: bytes) -> None:
        match = _DONE.search(answer)
        if match is None:
            self._tally.wrong(f"250 without a number: {answer!r}")
            return
        for number in match[1].split(b","):
            self._tally.accept(int(number))

    def _look(self, code: int, answer: bytes, sent: object) -> None:
        if INSIDE.encode() in answer or b"Traceback" in answer or b"Error: (" in answer:
            self._tally.wrong(f"mail: {code} {answer!r}", sent)
        elif code >= 400 and len(answer.split()) < 2:
            self._tally.wrong(f"mail: a refusal that says nothing: {code} {answer!r}", sent)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
