import { spawn } from "node:child_process";

/** What systemd is told about a service of `Type=notify`. */
export interface ServiceManager {
  /** The service does its work from now on. */
  ready(): void;
  /** It was told to stop, or stops by itself. */
  stopping(): void;
}

interface ServiceManagerLog {
  error(fields: object, message: string): void;
}

/**
 * The service manager that started this process, if it asks for notifications (sd_notify(3)). Takes
 * `NOTIFY_SOCKET` out of the environment: no program that this process starts may speak for it. Node.js has no Unix datagram
 * sockets, so `systemd-notify` sends the words; the unit needs `NotifyAccess=all`.
 */
export function serviceManager(log: ServiceManagerLog): ServiceManager {
  const { NOTIFY_SOCKET: socket } = process.env;
  delete process.env["NOTIFY_SOCKET"];
  const tell = (word: string): void => {
    if (socket === undefined) return;
    const child = spawn("systemd-notify", [word], {
      env: { ...process.env, NOTIFY_SOCKET: socket },
      stdio: "ignore",
      detached: false,
    });
    const fail = (err: unknown): void => log.error({ err, word }, "could not tell the service manager");
    child.once("error", fail);
    child.once("exit", (code) => code === 0 || fail(new Error(`systemd-notify ended with ${code}`)));
  };
  return { ready: () => tell("READY=1"), stopping: () => tell("STOPPING=1") };
}
