"""Line: messages and shared memory between a worker process and its parent."""

from __future__ import annotations

import array
import contextlib
import errno
import os
import select
import socket
import struct
from collections.abc import Callable

# Each message follows its size. A size of 0 has no message: it accompanies a descriptor.
_SIZE = struct.Struct("=Q")

# Bytes received at once, unless the message is longer.
_PIECE = 1 << 16
_LONGEST_PIECE = 1 << 20

# Messages up to this size are copied behind their size, because this is cheaper than a second system call.
_SHORT = 1 << 14

_DESCRIPTOR = socket.CMSG_SPACE(array.array("i").itemsize)
_CLOSED_IN_CHILDREN = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Line:
    """One end of a connection.

    Both ends receive while waiting for room, so they never wait for each other. For one thread at a
    time; `hang_up` may be called from any thread, signal handler or finalizer.

    Args:
        end: A connected stream socket.
        take: Called with each received descriptor, which is closed when it returns; `send` and `receive` raise its
            exceptions.
        peer: A descriptor that becomes readable once the process at the other end is dead. Without it only the
            connection's end shows this, but a forked child of that process may keep the connection open.
    """

    def __init__(self, end: socket.socket, take: Callable[[int], object], peer: int | None = None) -> None:
        self._end = end
        self._take = take
        self._come = bytearray()  # not yet received
        self._peer = peer
        self._descriptor = end.fileno()
        self._coming = self._waits_for(select.POLLIN)
        self._either = self._waits_for(select.POLLIN | select.POLLOUT)

    def send(self, message: bytes) -> None:
        """Send a message; raises the same errors as `receive`."""
        size = _SIZE.pack(len(message))
        if len(message) <= _SHORT:
            self._send(size + message)
        else:
            self._send(size)
            self._send(message)

    def send_descriptor(self, descriptor: int) -> None:
        """Send a file's descriptor; raises the same errors as `receive`."""
        sent = array.array("i", [descriptor])
        self._send(_SIZE.pack(0), [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])

    def receive(self) -> bytes:
        """Return the next message.

        Raises:
            EOFError, ConnectionError: The other end is closed.
            OSError: A descriptor cannot be received. Close the connection, because later messages would be misread.
        """
        come = self._come
        while True:
            wanted = _SIZE.size
            if len(come) >= wanted:
                wanted += _SIZE.unpack_from(come)[0]
            if len(come) < wanted:
                self._read(wanted - len(come))
                continue
            with memoryview(come) as view:
                message = bytes(view[_SIZE.size : wanted])
            del come[:wanted]
            if message:
                return message

    def comes(self, seconds: float) -> bool:
        """Wait for the next message or the end; return whether there is one within `seconds`."""
        return bool(self._come) or bool(self._coming.poll(1000 * seconds))

    def hang_up(self) -> None:
        """Disconnect both ends."""
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up and close the connection. Forked processes may have copies."""
        self.hang_up()
        self._end.close()

    def _send(self, data: bytes, beside: list[tuple[int, int, array.array[int]]] | None = None) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self._end.sendmsg([left], beside or (), socket.MSG_DONTWAIT) :]
                beside = None
            except BlockingIOError:
                self._wait_for_room()

    def _wait_for_room(self) -> None:
        """Wait for room, and receive messages meanwhile."""
        if self._wait(self._either) & ~select.POLLOUT:
            self._read(_PIECE)

    def _wait(self, waiting: select.poll) -> int:
        """Wait for events on the connection and return them.

        Raises:
            EOFError: The process at the other end is dead, and all its messages were received.
        """
        for descriptor, events in waiting.poll():
            if descriptor == self._descriptor:
                return events
        raise EOFError

    def _waits_for(self, events: int) -> select.poll:
        waiting = select.poll()
        waiting.register(self._descriptor, events)
        if self._peer is not None:
            waiting.register(self._peer, select.POLLIN)
        return waiting

    def _read(self, wanted: int) -> None:
        size = min(max(wanted, _PIECE), _LONGEST_PIECE)
        if self._peer is not None:
            self._wait(self._coming)
        data, beside, flags, _ = self._end.recvmsg(size, _DESCRIPTOR, _CLOSED_IN_CHILDREN)
        for _, _, raw in beside:
            for descriptor in array.array("i", raw):
                try:
                    self._take(descriptor)
                finally:
                    os.close(descriptor)
        if flags & socket.MSG_CTRUNC:  # the kernel dropped the descriptor
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        if not data:
            raise EOFError
        self._come += data
