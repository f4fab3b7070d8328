"""Starts a program as systemd would: service-manager.py PROGRAM ARGUMENT... It opens a port and passes it as a socket, prints
the port, then what the program says to NOTIFY_SOCKET. It ends when the program ends; at the first line of its input it sends
SIGTERM to it."""

import os
import signal
import socket
import sys
import tempfile
import threading

folder = tempfile.mkdtemp()
notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notifications.bind(os.path.join(folder, "notify"))
listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)

process = os.fork()
if process == 0:
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(NOTIFY_SOCKET=os.path.join(folder, "notify"), LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    os.execvp(sys.argv[1], sys.argv[1:])


def stop_when_told():
    if sys.stdin.readline() != "":
        os.kill(process, signal.SIGTERM)


def print_notifications():
    while True:
        # systemd-notify waits until the descriptor that it sends with its second message is closed.
        message, descriptors, _, _ = socket.recv_fds(notifications, 4096, 1)
        for descriptor in descriptors:
            os.close(descriptor)
        if b"=" in message and not message.startswith(b"BARRIER"):
            print(message.decode(), flush=True)


for task in (stop_when_told, print_notifications):
    threading.Thread(target=task, daemon=True).start()
_, status = os.waitpid(process, 0)
os.unlink(os.path.join(folder, "notify"))
os.rmdir(folder)
print("exit", os.waitstatus_to_exitcode(status), flush=True)
