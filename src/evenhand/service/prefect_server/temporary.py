"""Prefect's server for one process: a child that comes up beside the imports of its parent and ends with it.

Prefect's own temporary server is started by importing the whole server here first, which takes as long as its start.
"""

import atexit
import logging
import os
import socket
import subprocess
import sys
from threading import RLock, Thread

from evenhand.errors import PlaceError
from evenhand.runtime.patience import Progress, answers_in_time, waiting_aloud
from evenhand.runtime.process_identity import TEMPORARY_SERVER, end_left_servers, own_children
from evenhand.runtime.signals import deaf_to_ctrl_c
from evenhand.service.prefect_server.retention import kept_for, vacuum_surroundings

HOST = "127.0.0.1"
END_SECONDS = 5.0
MOST_RESTARTS = 3
STOPPED, ENDED = "it lives, but neither answers nor works on it any more", "it ended by itself (code {})"
NAMES_A_DATABASE = {"connection_url", "driver"}
ROLE = {  # no page shows its events, and it has no automations
    "PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "0", "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "0",
}  # fmt: skip
_guard = RLock()


class TemporaryServer:
    """The server of this process, started once; it may be asked for its address before it answers."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: socket.socket | None = None
        self._owner = self._port = self._n_restarts = 0
        self._has_answered = False

    @property
    def api(self) -> str:
        """The address of its API; empty where none was begun by this process."""
        return f"http://{HOST}:{self._port}/api" if self._process is not None and self._owner == os.getpid() else ""

    def begin(self) -> None:
        """Start the server if this process has none, and wait for nothing.

        It is handed a socket that listens already: who connects before it is up waits in line, and no port is lost
        to another program in between. Should the server be killed, who connects waits in line for the next one.
        """
        with _guard:
            if self._is_alive():
                return
            kept_for()  # a mistake in it is reported here
            own_children()
            self._listening = socket.create_server((HOST, 0))
            self._owner, self._port, self._has_answered = os.getpid(), self._listening.getsockname()[1], False
            self._n_restarts = 0
            self._start(self._listening.fileno())
            atexit.register(self.end)
        end_left_servers()

    def _start(self, number: int) -> None:
        command = [sys.executable, "-m", TEMPORARY_SERVER, str(number)]
        with deaf_to_ctrl_c():
            self._process = subprocess.Popen(command, env=_surroundings(), pass_fds=[number])
        Thread(target=self._restart_after, args=(self._process,), name="prefect server", daemon=True).start()

    def _restart_after(self, process: "subprocess.Popen[bytes]") -> None:
        """Start another server when one that answered was killed; its records are in a file, so the run goes on."""
        code = process.wait()
        with _guard:
            if self._process is not process or self._listening is None:
                return  # it was ended
            if not self._has_answered or self._n_restarts == MOST_RESTARTS:
                self._listening.close()  # whoever waits in line is refused
                return
            self._n_restarts += 1
            logging.getLogger("evenhand").warning("Prefect's temporary server ended (code %d): started again", code)
            self._start(self._listening.fileno())

    def answered(self) -> str:
        """The address of its API, once it answers."""
        self.begin()
        if self._has_answered:
            return self.api
        process = self._process
        assert process is not None
        with waiting_aloud("Prefect's temporary server"):
            self._has_answered = answers_in_time(f"{self.api}/health", Progress(process).goes_on)
        if not self._has_answered:
            code = process.poll()
            self.end()
            raise PlaceError(
                f"Prefect's temporary server did not start: {STOPPED if code is None else ENDED.format(code)}. Look at "
                "what it wrote above, or start one with `evenhand up` or `prefect server start`."
            )
        return self.api

    def leave(self) -> None:
        """Ask the server to end, and wait for nothing; `end` waits."""
        with _guard:
            listening, self._listening = self._listening, None
            process = self._process
        if listening is not None:
            listening.close()
        if process is not None and self._owner == os.getpid():
            process.terminate()

    def end(self) -> None:
        """End the server, gently first."""
        self.leave()
        with _guard:
            process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _is_alive(self) -> bool:
        if self._process is None or self._listening is None:
            return False
        return self._owner == os.getpid() and self._process.poll() is None


TEMPORARY = TemporaryServer()


def _surroundings() -> dict[str, str]:
    """The environment of the server, with the settings that a program gave Prefect for now."""
    given: dict[str, str] = {}
    if "prefect.settings" in sys.modules:
        from prefect.settings import get_current_settings

        given = get_current_settings().to_environment_variables(exclude_unset=True)
    return {**os.environ, **ROLE, **given}


def own_database() -> None:
    """Keep records in a file of our own beside Prefect's, and for so many days, unless settings name a database.

    What other programs keep in Prefect's own file is theirs. Prefect's vacuum leaves runs alone on temporary servers.
    """
    from prefect.context import refresh_global_settings_context
    from prefect.server.services import db_vacuum
    from prefect.server.services.perpetual_services import get_perpetual_services
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    if settings.server.database.model_fields_set & NAMES_A_DATABASE:
        return
    file = settings.home / "evenhand.db"
    os.environ |= {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{file}", **vacuum_surroundings()}
    refresh_global_settings_context()
    for service in get_perpetual_services():
        if service.function.__module__ == db_vacuum.__name__:
            service.run_in_ephemeral = True


def in_one_line(record: logging.LogRecord) -> bool:
    """Have a failure that the server reports say what it was, without the way there."""
    if record.exc_info and (error := record.exc_info[1]) is not None:
        record.msg, record.args = f"{record.getMessage().strip().rstrip(':')}: {type(error).__name__}: {error}", ()
        record.msg = record.msg.partition("\n")[0]
        record.exc_info = record.exc_text = None
    return True


def main(number: str) -> None:
    """Serve Prefect's API on a socket that listens already."""
    from evenhand.runtime.starting import importing, seldom

    seldom()
    with importing():
        own_database()
        import uvicorn
        from prefect.settings import get_current_settings

        from evenhand.service.prefect_server.application import application, log_in

        app = application(log_in(get_current_settings().home))
    for name in ("prefect.server", "uvicorn.error"):
        logging.getLogger(name).addFilter(in_one_line)
    config = uvicorn.Config(app, log_level="error", lifespan="on")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(number))])


if __name__ == "__main__":
    main(sys.argv[1])
