import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { boundKeyUpdates } from "../machinery/http/connections/bound-key-updates.ts";
import { ConnectionRoom } from "../machinery/http/connections/connection-room.ts";
import { PipeliningBound } from "../machinery/http/connections/http1/pipelining-bound.ts";
import { closeServer, sendAnswer } from "../machinery/http/connections/http1/node-http.ts";
import { probeAnswer } from "../machinery/http/routes/probe-answer.ts";
import type { ProbedProgram } from "../machinery/http/routes/probe-answer.ts";
import { rateLimitedReport } from "../machinery/logging/rate-limited-report.ts";
import type { KeyPair } from "./certificates/key-pair.ts";
import type { Log } from "../machinery/logging/log.ts";

/** A connection beyond these limits ends the oldest one. */
const limits = { connections: 128, connectionsPerAddress: 128 };

interface AgentListenerOptions extends ProbedProgram {
  readonly address: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly log: Log;
}

export interface AgentListener {
  readonly port: number;
  /** Presented on new connections from now on; open connections continue. */
  useCertificate(pair: KeyPair): void;
  close(): Promise<void>;
}

/**
 * Serves `/livez`, `/readyz`, `/healthz` (as `/livez`) and `/metrics` over HTTPS, read only and without secrets. Handshakes fail until the
 * agent has a certificate. Rejects when the port is taken.
 */
export async function openAgentListener(options: AgentListenerOptions): Promise<AgentListener> {
  const { address, port, log } = options;
  const pipelining = new PipeliningBound();
  const server = createServer(
    {
      minVersion: "TLSv1.2",
      maxHeaderSize: 8192,
      requestTimeout: 10_000,
      headersTimeout: 10_000,
      handshakeTimeout: 10_000,
    },
    (request, response) => {
      if (!pipelining.mayAnswer(request, response)) return;
      const { method = "", url = "" } = request;
      const [path = ""] = url.split("?", 1);
      probeAnswer({ method, path }, options)
        .then((answer) => sendAnswer(response, answer))
        .catch((error: unknown) => {
          log.error({ err: error }, "could not answer a request");
          response.destroy();
        });
    },
  );
  const room = new ConnectionRoom({ limits });
  server.on("connection", (socket: Socket) => void room.admit(socket));
  boundKeyUpdates(server, log);
  server.keepAliveTimeout = 30_000;
  // A client may end its handshake at any time.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.listen({ host: address, port });
  await once(server, "listening");
  // The process had no free file descriptor for a connection. It may have one for the next.
  server.on(
    "error",
    rateLimitedReport((error: Error, count) => log.error({ err: error, count }, "could not accept connections")),
  );
  return {
    port: (server.address() as AddressInfo).port, // listens on an address, not on a pipe
    useCertificate: ({ certificatePem, keyPem }) =>
      server.setSecureContext({ cert: certificatePem, key: keyPem, minVersion: "TLSv1.2" }),
    close() {
      const closed = closeServer(server);
      room.clear(); // also connections whose handshake has not ended
      return closed;
    },
  };
}
