"""Cursors of SQLite that are closed by the thread that works on their connection, also where their statement failed.

A cursor whose statement failed, or was given up, is not closed by SQLAlchemy. Whoever drops the last reference to it
then resets its statement, for which SQLite locks the connection. The garbage collector does so in the thread of the
event loop, at any moment. If the connection waits for its turn to write just then, its own thread has locked it; the
loop waits for that thread, and who has the turn waits for the loop: nothing is answered until the wait ends, after
60 seconds.
"""

from typing import Any


def close_what_failed() -> None:
    """Have aiosqlite close a cursor in the thread of its connection once a call of it failed or was given up."""
    from aiosqlite.cursor import Cursor

    execute = Cursor._execute

    async def _execute(self: Any, call: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return await execute(self, call, *arguments, **named)
        except BaseException:  # also of a request that was given up
            self._conn._tx.put_nowait((None, self._cursor.close))
            raise

    Cursor._execute = _execute  # type: ignore[assignment, method-assign]
