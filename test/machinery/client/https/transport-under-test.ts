import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import type { TestContext } from "node:test";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import type { TlsCredentials } from "../../../../src/machinery/client/https/tls-options.ts";
import { readText } from "../../../../src/machinery/client/transport.ts";
import type { ClientRequest, Transport } from "../../../../src/machinery/client/transport.ts";
import { newPair } from "../../../agent/new-pair.ts";

const serving = newPair();

export const tls = { key: serving.keyPem, cert: serving.certificatePem, requestCert: true, rejectUnauthorized: false };

/** Listens on a free port. */
export async function portOf(server: Server, address = "127.0.0.1"): Promise<number> {
  server.listen(0, address);
  await once(server, "listening");
  return (server.address() as AddressInfo).port; // it listens on TCP
}

/** A transport to a server that begins to listen now. Both end with the test. */
export async function transportTo(server: Server, context: TestContext): Promise<Transport> {
  const transport = httpsTransport({
    server: `https://127.0.0.1:${await portOf(server)}`,
    skipsServerVerification: true,
  });
  context.after(() => {
    transport.close();
    server.close();
  });
  return transport;
}

export const credentials = (): TlsCredentials => {
  const { certificatePem, keyPem } = newPair();
  return { clientCertificate: { certificate: certificatePem, key: keyPem } };
};

export const ask = async (transport: Transport, path: string, more: Partial<ClientRequest> = {}): Promise<string> =>
  readText((await transport.send({ method: "GET", path, ...more })).body);

/** A caller asks, and has no answer in its time. */
export async function giveUp(transport: Transport): Promise<void> {
  const time = new AbortController();
  const late = ask(transport, "/", { signal: time.signal });
  setImmediate(() => time.abort(new DOMException("the time is over", "TimeoutError")));
  await assert.rejects(late);
}

/** Requests that may be silent for as long as `watchIdleMilliseconds` says. */
export const impatient = { query: "watch=true&allowWatchBookmarks=true" };
