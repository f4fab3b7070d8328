import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import type { TLSSocket } from "node:tls";
import { once } from "node:events";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import pino from "pino";
import { openAgentListener } from "../../src/agent/agent-listener.ts";
import { newPair } from "./new-pair.ts";

const log = pino({ level: "silent" });

async function listening(context: TestContext, faults: readonly string[] = []) {
  const metrics = { contentType: "text/plain", text: async () => "metric 1\n" };
  const listener = await openAgentListener({ address: "127.0.0.1", port: 0, faults: () => faults, metrics, log });
  context.after(() => listener.close());
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  context.after(() => agent.destroy());
  return {
    ...listener,
    ask: (path: string, method = "GET"): Promise<{ code: number | undefined; text: string; serial: string }> =>
      new Promise((resolve, reject) => {
        const sent = request({ host: "127.0.0.1", port: listener.port, path, method, agent }, (response) => {
          let text = "";
          const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber; // the agent opens TLS alone
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ code: response.statusCode, text, serial }));
        });
        sent.on("error", reject);
        sent.end();
      }),
    serialOnNewConnection: async (): Promise<string> => {
      const socket = connect({ host: "127.0.0.1", port: listener.port, rejectUnauthorized: false });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    },
  };
}

describe("the agent's listener", () => {
  it("answers health and metrics, and nothing else", async (context) => {
    const { ask, useCertificate } = await listening(context);
    useCertificate(newPair());
    assert.deepEqual({ ...(await ask("/healthz?verbose")), serial: "" }, { code: 200, text: "ok", serial: "" });
    assert.equal((await ask("/metrics")).text, "metric 1\n");
    assert.deepEqual({ ...(await ask("/healthz", "HEAD")), serial: "" }, { code: 200, text: "", serial: "" });
    assert.equal((await ask("/healthz", "POST")).code, 405);
    assert.equal((await ask("/pods")).code, 404);
  });

  it("is alive when it is not ready, and says why it is not", async (context) => {
    const { ask, useCertificate } = await listening(context, ["the client certificate has expired"]);
    useCertificate(newPair());
    const { code, text } = await ask("/readyz");
    assert.deepEqual([code, text], [503, "the client certificate has expired\n"]);
    for (const path of ["/livez", "/healthz"]) assert.equal((await ask(path)).code, 200);
  });

  it("answers however many idle connections are open", async (context) => {
    const { ask, port, useCertificate } = await listening(context);
    useCertificate(newPair());
    const idle = Array.from({ length: 300 }, () => connectPlain({ host: "127.0.0.1", port }).on("error", () => {}));
    context.after(() => idle.forEach((socket) => socket.destroy()));
    await Promise.all(idle.map((socket) => once(socket, "connect")));
    assert.equal((await ask("/livez")).code, 200);
  });

  it("ends the connection after the answer to a request whose body has no end", async (context) => {
    const { port, useCertificate } = await listening(context);
    useCertificate(newPair());
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
    context.after(() => socket.destroy());
    socket.write("POST /livez HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    let text = "";
    for await (const part of socket.setEncoding("utf8")) text += part;
    const [head = ""] = text.split("\r\n\r\n", 1); // a later answer of Node.js, to the request that took too long, says it too
    assert.match(head, /^HTTP\/1.1 405 [^]*\r\nconnection: close$/im);
  });

  it("completes no TLS handshake before it has a certificate", async (context) => {
    const { ask } = await listening(context);
    await assert.rejects(ask("/healthz"));
  });

  it("serves a new certificate to new connections while old ones continue", async (context) => {
    const { ask, useCertificate, serialOnNewConnection } = await listening(context);
    useCertificate(newPair());
    const { serial } = await ask("/healthz");
    useCertificate(newPair());
    assert.equal((await ask("/healthz")).serial, serial);
    assert.notEqual(await serialOnNewConnection(), serial);
  });

  it("cannot share a port", async (context) => {
    const { port } = await listening(context);
    const metrics = { contentType: "", text: async () => "" };
    await assert.rejects(openAgentListener({ address: "127.0.0.1", port, faults: () => [], metrics, log }), {
      code: "EADDRINUSE",
    });
  });

  it("makes no more than two answers for a client that sends requests without waiting", async (context) => {
    let made = 0;
    const text = async (): Promise<string> => `metric ${++made}\n`;
    const metrics = { contentType: "text/plain", text };
    const listener = await openAgentListener({ address: "127.0.0.1", port: 0, faults: () => [], metrics, log });
    context.after(() => listener.close());
    listener.useCertificate(newPair());
    const socket = connect({ host: "127.0.0.1", port: listener.port, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    socket.on("error", () => undefined); // it may be reset
    socket.write("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n".repeat(1000));
    socket.resume();
    await once(socket, "close");
    assert.ok(made <= 2, `${made}`);
  });
});
