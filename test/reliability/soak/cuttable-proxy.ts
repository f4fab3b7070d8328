import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A TCP proxy on loopback whose connections can be cut: what a broken network does to clients. */
export interface CuttableProxy {
  readonly port: number;
  /** Connections that are open now. */
  connections(): number;
  /** Resets those of the open connections that `isChosen` says. */
  cut(isChosen: () => boolean): number;
  /** The open connections carry nothing more, and no side is told: as a firewall does that has forgotten them. */
  silence(): void;
  /** Until `target` is called again: every connection is cut, and new ones too. */
  detach(): void;
  /** Where new connections go. */
  target(port: number): void;
  close(): Promise<void>;
}

export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  let port: number | undefined = targetPort;
  const open = new Set<Socket>();
  const server = createServer((incoming) => {
    if (port === undefined) {
      incoming.resetAndDestroy();
      return;
    }
    const outgoing = connect({ host: "127.0.0.1", port });
    const end = (): void => {
      open.delete(incoming);
      incoming.destroy();
      outgoing.destroy();
    };
    open.add(incoming);
    for (const socket of [incoming, outgoing]) {
      socket.setNoDelay(true);
      socket.on("error", end).on("close", end);
    }
    incoming.pipe(outgoing).pipe(incoming);
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => open.size,
    cut(isChosen) {
      const chosen = [...open].filter(isChosen);
      for (const socket of chosen) socket.resetAndDestroy();
      return chosen.length;
    },
    silence() {
      for (const socket of open) socket.unpipe().removeAllListeners("data").resume();
    },
    detach() {
      port = undefined;
      for (const socket of open) socket.resetAndDestroy();
    },
    target: (next) => (port = next),
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
