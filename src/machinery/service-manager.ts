import { spawn } from "node:child_process";
import { fstatSync } from "node:fs";
import { UsageError } from "./command-line/settings/flag.ts";
import type { Log } from "./logging/log.ts";

/** What systemd is told about a service of `Type=notify`. */
interface ServiceManager {
  /** The service does its work from now on. */
  ready(): void;
  /** Reports that the process stops, for whatever reason. */
  stopping(): void;
}

/**
 * The service manager that started this process, if it asks for notifications (sd_notify(3)). Takes
 * `NOTIFY_SOCKET` out of the environment: no program that this process starts may speak for it. Node.js has no Unix datagram
 * sockets, so `systemd-notify` sends the words; the unit needs `NotifyAccess=all`.
 */
export function serviceManager(log: Pick<Log, "error">): ServiceManager {
  const { NOTIFY_SOCKET: socket } = process.env;
  delete process.env["NOTIFY_SOCKET"];
  const tell = (word: string): void => {
    if (socket === undefined) return;
    const child = spawn("systemd-notify", [word], {
      env: { ...process.env, NOTIFY_SOCKET: socket },
      stdio: "ignore",
      detached: false,
    });
    const fail = (reason: string): void => log.error({ reason, word }, "could not tell the service manager");
    child.once("error", ({ message }) => fail(message));
    child.once("exit", (code) => code === 0 || fail(`systemd-notify ended with ${code}`));
  };
  return { ready: () => tell("READY=1"), stopping: () => tell("STOPPING=1") };
}

/** The first descriptor that a service manager passes (SD_LISTEN_FDS_START). */
const firstDescriptor = 3;

/**
 * The descriptor of the listening socket that a service manager has opened for this process (sd_listen_fds(3)), or undefined.
 * Takes its variables out of the environment: they are not meant for programs that this process starts. Throws UsageError
 * when there is more than one, or it is not a socket.
 */
export function passedSocket(): number | undefined {
  const { LISTEN_PID: processId, LISTEN_FDS: count } = process.env;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete process.env[name];
  if (processId !== String(process.pid) || count === undefined || count === "0") return undefined;
  if (count !== "1")
    throw new UsageError(`the service manager passed ${count} sockets: give the unit one ListenStream=`);
  if (!isSocket(firstDescriptor)) throw new UsageError("LISTEN_FDS is 1, but descriptor 3 is not a socket: unset it");
  return firstDescriptor;
}

function isSocket(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isSocket();
  } catch {
    return false;
  }
}
