import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { errorCode } from "../api/thrown-error.ts";

const portFlags =
  "signet serve: --secure-port or --revocation-http-address, signet controllers: --metrics-bind-address, signet agent: --port";
const addressFlags =
  "signet serve: --bind-address or --revocation-http-address, signet controllers: --metrics-bind-address, signet agent: --listen-address";

/** Says why the system refuses to listen at an address, and what to do. Undefined for another error. */
export function listenFault(error: unknown): string | undefined {
  const { syscall, address, port, hostname } = error as NodeJS.ErrnoException & Place; // from Node.js: each may be missing
  if (!(error instanceof Error) || !["listen", "bind", "getaddrinfo"].includes(syscall ?? "")) return undefined;
  const place = [hostname ?? address, port].filter((part) => part !== undefined).join(":");
  const advice = hostname?.startsWith("[") === true ? "write it without brackets" : "choose one that it has";
  switch (errorCode(error)) {
    case "EADDRINUSE":
      return `another program uses ${place}; stop it, or choose another port (${portFlags})`;
    case "EACCES":
      return `this user may not listen on ${place}; choose a port above 1023 (${portFlags}), or give the permission`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `this machine has no address ${place}; ${advice} (${addressFlags})`;
    case "EINVAL": // a link-local address of IPv6 without its zone
      return `${place} is an address of one link only; choose another one of this machine (${addressFlags})`;
    default:
      return `cannot listen on ${place}: ${error.message}`;
  }
}

interface Place {
  readonly address?: string;
  readonly port?: number;
  /** The name that could not be looked up. */
  readonly hostname?: string;
}

/**
 * Tries to listen at an address, and stops at once. Resolves with the port, which is a free one for 0. Rejects with the system's error,
 * which `listenFault` explains.
 */
export async function tryListening(address: { readonly host: string; readonly port: number }): Promise<number> {
  const server = createServer().listen(address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, "close");
  return port;
}
