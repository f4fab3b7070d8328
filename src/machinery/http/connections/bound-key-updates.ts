import type { Server } from "node:https";
import type { TLSSocket } from "node:tls";
import type { Log } from "../../logging/log.ts";
import { rateLimitedReport } from "../../logging/rate-limited-report.ts";

/** A handshake makes five keys at most. Clients change theirs after gigabytes, if ever: that makes two keys each time. */
const maximumKeys = 64;

/**
 * Ends connections whose clients change their keys again and again (KeyUpdate, RFC 8446 section 4.6.3). OpenSSL accepts any number of these
 * messages. Node.js does not report them, so they cannot be divided into turns: it reads two megabytes of them at once, which takes a fifth
 * of a second for each connection. (Go ends a connection after 16 messages in a row without data.)
 */
export function boundKeyUpdates(server: Server, log: Pick<Log, "warn">): void {
  const ended = rateLimitedReport<string | undefined>((address, count) =>
    log.warn({ address, count }, "clients change the keys of their connections again and again: these are closed"),
  );
  const keys = new WeakMap<TLSSocket, number>();
  // No other event reports a new key. The key itself is not used.
  server.on("keylog", (_key, socket) => {
    const count = (keys.get(socket) ?? 0) + 1;
    keys.set(socket, count);
    if (count !== maximumKeys) return;
    ended(socket.remoteAddress);
    socket.destroy();
  });
}
