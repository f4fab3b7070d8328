import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { createServer as createProxy } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { test } from "node:test";
import { httpsTransport } from "../../../src/machinery/client/https-transport.ts";
import type { TlsCredentials } from "../../../src/machinery/client/https-transport.ts";
import { readText } from "../../../src/machinery/client/transport.ts";
import { newPair } from "../../agent/new-pair.ts";

test("new credentials are used at once, on new connections, and disturb no request that runs", async (context) => {
  const serving = newPair();
  const held: ServerResponse[] = [];
  const server = createServer(
    { key: serving.keyPem, cert: serving.certificatePem, requestCert: true, rejectUnauthorized: false },
    (incoming, response) => {
      const { serialNumber } = (incoming.socket as TLSSocket).getPeerCertificate(); // an HTTPS server's sockets are
      response.write(`${serialNumber} ${incoming.socket.remotePort}`);
      if (incoming.url === "/held") held.push(response);
      else response.end();
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const credentials = (): TlsCredentials => {
    const { certificatePem, keyPem } = newPair();
    return { clientCertificate: { certificate: certificatePem, key: keyPem } };
  };
  let current = credentials();
  const transport = httpsTransport({
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, // listens on a port
    tlsCredentials: () => current,
    skipsServerVerification: true,
  });
  context.after(() => {
    transport.close();
    server.closeAllConnections();
    server.close();
  });
  const ask = async (path: string): Promise<string> => readText((await transport.send({ method: "GET", path })).body);

  const first = await ask("/");
  assert.equal(await ask("/"), first, "the connection is kept");
  const running = transport.send({ method: "GET", path: "/held" });
  await once(server, "request");
  current = credentials();
  const second = await ask("/");
  assert.notEqual(second.split(" ")[0], first.split(" ")[0], "another certificate");
  assert.equal(await ask("/"), second, "the new connection is kept");
  held[0]?.end(" whole");
  assert.equal(await readText((await running).body), `${first} whole`);
  const connections = new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  assert.ok((await connections) <= 2);
});

test("requests go through the proxy of HTTPS_PROXY, except to loopback and the hosts of NO_PROXY", async (context) => {
  const asked: string[] = [];
  const proxy = createProxy().on("connect", (request, socket) => {
    asked.push(request.url ?? "");
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  process.env["HTTPS_PROXY"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // listens on a port
  process.env["NO_PROXY"] = "direct.invalid";
  context.after(() => {
    delete process.env["HTTPS_PROXY"];
    delete process.env["NO_PROXY"];
    proxy.close();
  });
  for (const host of ["signet.invalid:6443", "direct.invalid:6443", "127.0.0.1:1"]) {
    const transport = httpsTransport({ server: `https://${host}` });
    await assert.rejects(transport.send({ method: "GET", path: "/" }));
    transport.close();
  }
  assert.deepEqual(asked, ["signet.invalid:6443"]);
});
