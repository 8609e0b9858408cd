"""Messages to a webhook and a mailbox on the loopback, counted at the other end."""

import os
import socketserver
import ssl
import subprocess
import sys
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from hooks import Hook, served
from makers import make_study

from evenhand.errors import ConfError, DataError
from evenhand.monitoring import notifications, transport
from evenhand.monitoring.notifications import (
    Event,
    drifted,
    failure,
    notify,
    promotion,
    send_pending,
    silence,
    skip_streak,
)
from evenhand.study.study import Email, Notify

SILENT = silence("2026-05-01T03:00", "nothing for 26 hours")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(transport, "PAUSES", (0.0, 0.0))


class Post(socketserver.ThreadingTCPServer):
    """A mail server that takes every letter; with a certificate, once the talk is encrypted."""

    daemon_threads = True

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), _Session)
        self.letters, self.logins, self.certificate = [], [], certificate

    def handle_error(self, *_):
        """A client that hangs up in the middle of the handshake is no failure of the test."""


class _Session(socketserver.StreamRequestHandler):
    def handle(self):
        self._say("220 ready")
        while raw := self.rfile.readline():
            given = raw.decode().strip()
            word = given[:4].upper()
            is_open = self.server.certificate is not None and not isinstance(self.connection, ssl.SSLSocket)
            if word == "EHLO":
                self._say(f"250-here\r\n250 {'STARTTLS' if is_open else 'AUTH PLAIN'}")
            elif word == "STAR" and is_open:
                self._encrypt()
            elif is_open and word != "QUIT":
                self._say("530 not in the open")
            elif word == "AUTH":
                self.server.logins.append(given)
                self._say("235 welcome")
            elif word == "RCPT" and "nobody@" in given:
                self._say("550 nobody here")
            elif word == "DATA":
                self._say("354 go on")
                letter = []
                while (line := self.rfile.readline()) != b".\r\n":
                    letter.append(line.decode())
                self.server.letters.append("".join(letter))
                self._say("250 taken")
            elif word == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 fine")

    def _encrypt(self):
        self._say("220 go on")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.certificate)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)

    def _say(self, words):
        self.wfile.write(f"{words}\r\n".encode())


@pytest.fixture
def hook(monkeypatch):
    with served(Hook()) as server:
        monkeypatch.setenv("HOOK", server.address)
        yield server


@pytest.fixture
def mailbox():
    with served(Post()) as server:
        yield server


def asking(**notify):
    return make_study(notify={"webhook": "${HOOK}", **notify})


def mailing(mailbox, **more):
    given = {"to": "ops@example.org", "host": "127.0.0.1", "port": mailbox.server_address[1], "security": "none"}
    return make_study(notify={"email": {**given, **more}})


def test_a_webhook_is_sent_text_that_slack_shows_and_fields_for_programs(hook):
    outcome = notify(asking(), promotion(3, "better by 0.02", "hash_of_line", run="run_7"))

    (content, headers), *more = hook.got
    assert (outcome, more) == ("sent", [])
    assert content["text"] == "tiny has a new champion: version 3 is champion: better by 0.02"
    assert (content["event"], content["study"]) == ("promotion", "tiny")
    assert content["facts"] == {"version": "3", "run": "run_7"}
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == content["id"]


def test_an_event_is_reported_once_and_another_of_its_kind_again(hook):
    outcomes = [notify(asking(), event) for event in (SILENT, SILENT, silence("2026-05-02T03:00", "still nothing"))]

    assert outcomes == ["sent", "known", "sent"]
    assert len(hook.got) == 2


def test_processes_that_report_the_same_event_at_once_send_one_message(hook, tmp_path):
    code = (
        "from makers import make_study; from evenhand.monitoring.notifications import silence, notify\n"
        "notify(make_study(notify={'webhook': '${HOOK}'}), silence('2026-05-01', 'nothing'))"
    )
    path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")])

    begun = [subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}) for _ in range(4)]

    assert [process.wait(timeout=300) for process in begun] == [0] * 4
    assert len(hook.got) == 1


def test_a_server_that_stumbles_is_tried_again(hook):
    hook.answers = [503, 429]

    assert notify(asking(), SILENT) == "sent"
    assert len(hook.got) == 3
    assert len({content["id"] for content, _ in hook.got}) == 1


def test_a_refusal_is_not_repeated_at_once_and_the_message_stays_pending(hook, caplog):
    hook.answers = [404]

    outcome = notify(asking(), SILENT)

    assert (outcome, len(hook.got)) == ("pending", 1)
    assert "the webhook at 127.0.0.1 answered 404 Not Found: check notify.webhook" in caplog.text
    assert "secret" not in caplog.text


def test_what_is_pending_goes_out_with_the_next_event_the_oldest_first(hook):
    hook.answers = [404]
    notify(asking(), SILENT)

    outcome = notify(asking(), drifted("drift: x", "rows"))

    assert outcome == "sent"
    assert [content["event"] for content, _ in hook.got] == ["silence", "silence", "drift"]
    assert notify(asking(), SILENT) == "known"
    assert send_pending(asking()) == 0


def test_a_process_killed_before_it_could_send_leaves_a_message_that_is_sent_later(hook, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(notifications, "_send", killed)
        with pytest.raises(KeyboardInterrupt):
            notify(asking(), SILENT)

    assert send_pending(asking()) == 0
    assert [content["event"] for content, _ in hook.got] == ["silence"]


def test_nobody_listening_is_no_failure(monkeypatch, caplog):
    monkeypatch.setenv("HOOK", "http://127.0.0.1:9/hook/secret")

    assert notify(asking(), SILENT) == "pending"
    assert "the webhook at 127.0.0.1 could not be reached" in caplog.text
    assert "secret" not in caplog.text


def test_a_message_that_never_arrives_is_given_up_after_many_rounds(monkeypatch):
    monkeypatch.setattr(notifications, "MOST_ROUNDS", 3)
    monkeypatch.setattr(notifications, "post", lambda *_: (_ for _ in ()).throw(transport.Undeliverable("down")))

    notify(make_study(notify={"webhook": "http://127.0.0.1:9"}), SILENT)
    owed = [send_pending(make_study(notify={"webhook": "http://127.0.0.1:9"})) for _ in range(2)]

    assert owed == [1, 0]


@pytest.mark.parametrize(
    ("address", "words"),
    [("ftp://somewhere", "no address that begins with http"), (None, "names the environment variable HOOK, which is")],
)
def test_an_address_that_is_none_is_reported_and_no_failure(monkeypatch, caplog, address, words):
    if address is not None:
        monkeypatch.setenv("HOOK", address)

    assert notify(asking(), SILENT) == "pending"
    assert words in caplog.text


def test_a_broken_record_of_messages_is_no_failure(hook, tmp_path, caplog):
    file = tmp_path / "home/notices/tiny.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"id": 1}\n')

    assert notify(asking(), SILENT) == "pending"
    assert "line 1 of the messages" in caplog.text


def test_a_study_that_asks_for_nothing_or_not_for_this_is_left_in_peace(hook):
    assert notify(make_study(), SILENT) == "not asked"
    assert notify(asking(events="failure"), SILENT) == "not asked"
    assert send_pending(make_study()) == send_pending(asking()) == 0
    assert hook.got == []


def test_skips_are_reported_once_a_streak_and_only_when_there_are_enough(hook):
    study = asking(skips=3)

    outcomes = [notify(study, skip_streak(n, "nothing changed", "2026-05-01")) for n in (1, 2, 3, 4)]

    assert outcomes == ["not asked", "not asked", "sent", "known"]
    assert "3 ticks in a row were skipped since 2026-05-01, the last because nothing changed" in hook.got[0][0]["text"]


def test_a_failure_says_what_broke_where_and_what_to_do_in_one_line():
    def broken(kind):
        try:
            raise kind("column 'x'\nis gone. Fix the source.")
        except kind as error:
            return error

    ours, strange = failure(broken(DataError), "run_1"), failure(broken(ZeroDivisionError), "run_1")

    assert ours.words == "in DataError: column 'x' is gone. Fix the source."
    assert strange.words == (
        "in ZeroDivisionError: ZeroDivisionError: column 'x' is gone. Fix the source. `evenhand run` shows the "
        "traceback, `evenhand doctor` looks around."
    )


def test_a_failure_names_the_stage_it_came_up_in(mlruns):
    from evenhand.tasks.operation.feedback import join_truths

    with pytest.raises(Exception, match="labels that arrive later") as found:
        join_truths.fn(make_study())

    assert failure(found.value, "run_1").words.startswith("in feedback: study 'tiny' says nothing of labels")


def test_an_email_has_the_words_the_facts_and_the_id_of_the_event(mailbox, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "sesame")
    study = mailing(mailbox, user="ops", password="${MAIL_PASSWORD}")

    assert [notify(study, drifted("drift: x moved", "rows", rows=7)) for _ in range(2)] == ["sent", "known"]

    (letter,) = mailbox.letters
    assert "Subject: tiny sees other data than it was trained on: drift: x moved" in letter
    assert "To: ops@example.org" in letter
    assert "rows: 7" in letter
    assert "@evenhand>" in letter
    assert len(mailbox.logins) == 1


def test_a_mailbox_that_is_not_there_is_reported(mailbox, caplog):
    assert notify(mailing(mailbox, to="nobody@example.org"), SILENT) == "pending"
    assert "refused the message" in caplog.text
    assert "check notify.email" in caplog.text


def test_both_ways_are_used_and_only_the_one_that_failed_is_repeated(hook, mailbox):
    study = make_study(notify={**mailing(mailbox).model_dump(by_alias=True)["notify"], "webhook": "${HOOK}"})
    hook.answers = [404]

    outcomes = [notify(study, SILENT), send_pending(study)]

    assert outcomes == ["pending", 0]
    assert (len(hook.got), len(mailbox.letters)) == (2, 1)


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        (Notify, {}, "say how: webhook"),
        (Notify, {"webhook": "x", "events": []}, "is empty: give at least 1"),
        (Email, {"to": "a", "host": "h", "user": "u"}, "user and password go together"),
        (Email, {"to": "a", "host": "h", "user": "u", "password": "sesame"}, "must not stand in the file"),
    ],
)
def test_settings_that_cannot_work_are_refused(kind, given, words):
    with pytest.raises(ConfError, match=words):
        kind(**given)


def test_a_run_that_fails_is_reported_once(hook, prefect_server, mlruns):
    from evenhand.api.launch import run_study

    with pytest.raises(DataError):
        run_study(asking())

    assert [content["event"] for content, _ in hook.got] == ["failure"]
    assert hook.got[0][0]["text"].startswith("tiny failed: in ingestion: source.path names 'rows.csv', but there is no")


def test_an_event_without_facts_is_an_event():
    assert Event("drift", "rows", "moved").facts == {}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signed itself, with its key."""
    x509 = pytest.importorskip("cryptography.x509", reason="the certificate is made with cryptography")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    today = datetime.now(UTC)
    place = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1)).not_valid_after(today + timedelta(days=1))
        .add_extension(place, critical=True).sign(key, hashes.SHA256())
    )  # fmt: skip
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("certificate") / "both.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(serialization.Encoding.PEM, *plain)
    )
    return file


LOGIN = {"security": "starttls", "user": "me", "password": "${MAIL_PASSWORD}"}


@pytest.fixture
def encrypted(certificate, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "a-word")
    with served(Post(certificate)) as server:
        yield server


def test_a_letter_goes_over_starttls_to_a_server_whose_certificate_is_trusted(encrypted, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    outcome = notify(mailing(encrypted, **LOGIN), SILENT)

    assert outcome == "sent"
    assert [b64decode(login.split()[2]) for login in encrypted.logins] == [b"\0me\0a-word"]
    assert "tiny is silent: nothing for 26 hours" in encrypted.letters[0]


def test_a_server_whose_certificate_nobody_vouches_for_is_reported_nothing(encrypted, caplog):
    outcome = notify(mailing(encrypted, **LOGIN), SILENT)

    assert outcome == "pending"
    assert (encrypted.logins, encrypted.letters) == ([], [])
    assert "could not be reached: CERTIFICATE_VERIFY_FAILED" in caplog.text


def test_a_server_without_starttls_is_reported_nothing_in_the_open(mailbox, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "a-word")

    outcome = notify(mailing(mailbox, **LOGIN), SILENT)

    assert outcome == "pending"
    assert (mailbox.logins, mailbox.letters) == ([], [])
