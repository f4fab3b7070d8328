import type { Server } from "node:https";
import { Server as NetServer } from "node:net";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Schedule } from "../../api/clock.ts";
import type { Http2Session } from "../../http2/http2-session.ts";
import type { ExchangeContext } from "./exchange.ts";
import { endpointsOf } from "./endpoints-of.ts";
import type { TlsConnection } from "./tls-connection.ts";

export interface ClosingListener {
  readonly server: Server;
  readonly context: ExchangeContext;
  readonly sessions: ReadonlyMap<Http2Session, TlsConnection>;
  readonly connections: ReadonlyMap<unknown, TlsConnection>;
  readonly sockets: ReadonlySet<Socket>;
  readonly schedule: Schedule;
}

/**
 * A connection without a request stays open for this long, because a handshake or a request may be under way, and HTTP/1.1 has no way to
 * say that a request was not processed. The answer to such a request ends the connection.
 */
const lastRequestMilliseconds = 1000;

/**
 * For so many seconds after an answer, a client of HTTP/2 may still read it from its kernel. If the connection were closed, the client's
 * next window update would get a TCP reset, which discards the unread rest of the answer. So the connection stays open until the client
 * closes it, or for this time.
 */
const readingSeconds = 5;

/** See `Listener.close`. */
export async function closeListener(
  listener: ClosingListener,
  { graceMilliseconds }: { readonly graceMilliseconds: number },
): Promise<void> {
  const { server, context, sessions, sockets, schedule } = listener;
  let wereBusy = busyEndpoints(listener);
  context.isClosing = true;
  for (const session of sessions.keys()) session.close();
  for (const exchange of context.open) if (exchange.isStream) exchange.end();
  // Closing the port resets connections that wait to be accepted. A whole turn of the event loop accepts them first. The first wait may end
  // before the event loop has looked for connections again.
  await nextTurn();
  await nextTurn();
  // Not the `close` of HTTP servers, which also closes idle connections.
  const closed = new Promise<void>((resolve) => void NetServer.prototype.close.call(server, () => resolve()));
  let cancelIdle = (): void => {};
  const endIdle = (): void => {
    const areBusy = busyEndpoints(listener);
    for (const socket of sockets) {
      const endpoints = endpointsOf(socket);
      // A client that was busy may not have received its last answer yet.
      if (!areBusy.has(endpoints) && !wereBusy.has(endpoints)) socket.destroy();
    }
    wereBusy = areBusy;
    endIdleLater();
  };
  const endIdleLater = (): void => {
    cancelIdle();
    // As an immediate: when the event loop is late, timers run before it reads what clients have sent.
    cancelIdle = schedule(() => setImmediate(endIdle), Math.min(lastRequestMilliseconds, graceMilliseconds));
  };
  endIdleLater();
  // A client whose handshake was under way gets the same time for its request.
  server.on("secureConnection", endIdleLater);
  const cancelCut = schedule(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMilliseconds);
  await closed;
  cancelIdle();
  cancelCut();
  server.close(); // ends the timers of the HTTP server
}

/**
 * The endpoints of the connections whose clients wait for an answer, have not received all of it, or may still read it from their
 * kernel.
 */
function busyEndpoints({ connections, sessions, context }: ClosingListener): ReadonlySet<string> {
  const busy = [...connections.values()].filter(({ isBusy }) => isBusy);
  const reading = [...sessions.values()].filter(
    ({ activeAtSecond }) => context.tick.seconds - activeAtSecond < readingSeconds,
  );
  return new Set([...busy, ...reading].map(({ endpoints }) => endpoints));
}
