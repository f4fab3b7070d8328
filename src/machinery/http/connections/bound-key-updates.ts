import type { Server } from "node:https";
import type { TLSSocket } from "node:tls";
import type { Log } from "../../logging/log.ts";
import { rateLimitedReport } from "../../logging/rate-limited-report.ts";

/** A handshake makes five keys at most. Clients change theirs after gigabytes, if ever: that makes two keys each time. */
const maximumKeys = 64;

/**
 * Ends connections whose clients change their keys again and again (KeyUpdate, RFC 8446 section 4.6.3). OpenSSL takes such messages without
 * end, and Node.js passes nothing of them on, so they take no turns: two megabytes of them, which it reads at once, are a fifth of a second
 * of work for each connection. (Go ends a connection after 16 messages in a row that bring nothing.)
 */
export function boundKeyUpdates(server: Server, log: Pick<Log, "warn">): void {
  const ended = rateLimitedReport<string | undefined>((address, count) =>
    log.warn({ address, count }, "clients change the keys of their connections again and again: these are closed"),
  );
  const keys = new WeakMap<TLSSocket, number>();
  // Nothing else tells of a new key. The key that comes with it is not read.
  server.on("keylog", (_key, socket) => {
    const count = (keys.get(socket) ?? 0) + 1;
    keys.set(socket, count);
    if (count !== maximumKeys) return;
    ended(socket.remoteAddress);
    socket.destroy();
  });
}
