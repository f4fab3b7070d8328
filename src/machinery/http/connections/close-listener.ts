import type { Server } from "node:https";
import { Server as NetServer } from "node:net";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Schedule } from "../../api/clock.ts";
import type { Http2Session } from "../../http2/http2-session.ts";
import type { ExchangeContext } from "./exchange.ts";
import { endsOf } from "./ends-of.ts";
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
 * A connection without a request stays open for this long: its handshake may be under way, or a request, and HTTP/1.1 cannot tell a
 * client that nobody will take it. The answer ends the connection.
 */
const lastRequestMilliseconds = 1000;

/**
 * A client of HTTP/2 that got an answer within so many seconds may still read it from the kernel. Its next window update would be answered
 * with a reset, which takes the rest from it. Its connection stays open until it closes it, or until it has had that long.
 */
const readingSeconds = 5;

/** See `Listener.close`. */
export async function closeListener(
  listener: ClosingListener,
  { graceMilliseconds }: { readonly graceMilliseconds: number },
): Promise<void> {
  const { server, context, sessions, sockets, schedule } = listener;
  let wereBusy = busyEnds(listener);
  context.isClosing = true;
  for (const session of sessions.keys()) session.close();
  for (const exchange of context.open) if (exchange.isStream) exchange.end();
  // Connections that wait to be accepted would be reset with the port: the next turn of the loop accepts them.
  if (graceMilliseconds > 0) await nextTurn();
  // Not the method of HTTP servers, which also closes idle connections.
  const closed = new Promise<void>((resolve) => void NetServer.prototype.close.call(server, () => resolve()));
  let cancelIdle = (): void => {};
  const endIdle = (): void => {
    const areBusy = busyEnds(listener);
    for (const socket of sockets) {
      const ends = endsOf(socket);
      // The last answer may still be on its way to one that was busy.
      if (!areBusy.has(ends) && !wereBusy.has(ends)) socket.destroy();
    }
    wereBusy = areBusy;
    if (sockets.size > 0) endIdleLater();
  };
  const endIdleLater = (): void => {
    cancelIdle();
    // In the next turn of the event loop: a busy one has not read yet what has come.
    cancelIdle = schedule(() => setImmediate(endIdle), Math.min(lastRequestMilliseconds, graceMilliseconds));
  };
  endIdleLater();
  // A client whose handshake was under way has as long for its request.
  server.on("secureConnection", endIdleLater);
  const cancelCut = schedule(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMilliseconds);
  await closed;
  cancelIdle();
  cancelCut();
  server.close(); // ends the timers of the HTTP server
}

/** The ends of the connections whose clients wait for an answer, have not taken it, or may still read it. */
function busyEnds({ connections, sessions, context }: ClosingListener): ReadonlySet<string> {
  const busy = [...connections.values()].filter(({ isBusy }) => isBusy);
  const reading = [...sessions.values()].filter(
    ({ activeAtSecond }) => context.tick.seconds - activeAtSecond < readingSeconds,
  );
  return new Set([...busy, ...reading].map(({ ends }) => ends));
}
