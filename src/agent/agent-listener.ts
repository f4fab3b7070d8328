import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { rateLimitedReport } from "../machinery/api/rate-limited-report.ts";
import type { AgentLog } from "./agent-log.ts";
import type { KeyPair } from "./key-pair.ts";

/** More are closed at once. */
const maximumConnections = 256;

export interface AgentListenerOptions {
  readonly address: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Why the agent is not healthy: one line each. */
  readonly faults: () => readonly string[];
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly log: AgentLog;
}

export interface AgentListener {
  readonly port: number;
  /** Shown on new connections from now on; those that are open go on. */
  useCertificate(pair: KeyPair): void;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` and `/metrics`, read only and without secrets, by HTTPS. Until there is a certificate handshakes fail.
 * Rejects when the port is taken.
 */
export async function openAgentListener(options: AgentListenerOptions): Promise<AgentListener> {
  const { address, port, log } = options;
  const server = createServer(
    {
      minVersion: "TLSv1.2",
      maxHeaderSize: 8192,
      requestTimeout: 10_000,
      headersTimeout: 10_000,
      handshakeTimeout: 10_000,
    },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => {
        log.error({ err: error }, "could not answer a request");
        response.destroy();
      });
    },
  );
  server.maxConnections = maximumConnections;
  server.keepAliveTimeout = 30_000;
  // A client that ends its handshake is no event.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: address, port }, resolve);
  });
  // No descriptor is left for a connection: the next may find one.
  server.on(
    "error",
    rateLimitedReport((error: Error, count) => log.error({ err: error, count }, "could not accept connections")),
  );
  return {
    port: (server.address() as AddressInfo).port, // listens on an address, not on a pipe
    useCertificate: ({ certificatePem, keyPem }) =>
      server.setSecureContext({ cert: certificatePem, key: keyPem, minVersion: "TLSv1.2" }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { method, url = "" }: IncomingMessage,
  response: ServerResponse,
  { faults, metrics }: AgentListenerOptions,
): Promise<void> {
  const send = (code: number, text: string, contentType = "text/plain; charset=utf-8"): void => {
    response.writeHead(code, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
    response.end(method === "HEAD" ? undefined : text);
  };
  const path = url.split("?", 1)[0];
  if (path !== "/healthz" && path !== "/metrics") return send(404, "404 page not found\n");
  if (method !== "GET" && method !== "HEAD") return send(405, "405 method not allowed\n");
  if (path === "/metrics") return send(200, await metrics.text(), metrics.contentType);
  const found = faults();
  if (found.length === 0) send(200, "ok");
  else send(503, found.map((fault) => `${fault}\n`).join(""));
}
