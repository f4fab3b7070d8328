import { fstatSync } from "node:fs";
import { UsageError } from "../command-line/flag.ts";

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
