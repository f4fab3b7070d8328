import assert from "node:assert/strict";
import { createServer as createProxy } from "node:http";
import { test } from "node:test";
import { connectionFault } from "../../../../src/machinery/client/https/connection-fault.ts";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../../../src/machinery/client/https/https-transport.ts";
import { environmentProxy, listenAsProxy, refusingProxy } from "./refusing-proxy.ts";

/** Sends a request to each host through a transport of its own. */
async function askEach(hosts: readonly string[], options: Partial<HttpsTransportOptions> = {}): Promise<void> {
  for (const host of hosts) {
    const transport = httpsTransport({ ...options, server: `https://${host}` });
    await assert.rejects(transport.send({ method: "GET", path: "/" }));
    transport.close();
  }
}

test("requests go through the proxy of HTTPS_PROXY, except to loopback and the hosts of NO_PROXY", async (context) => {
  const { asked } = await environmentProxy(context);
  process.env["NO_PROXY"] = "direct.invalid";
  context.after(() => {
    delete process.env["NO_PROXY"];
  });
  await askEach(["signet.invalid:6443", "direct.invalid:6443", "below.direct.invalid:6443", "127.0.0.1:1"]);
  assert.deepEqual(asked, ["signet.invalid:6443"]);
});

test("requests go through a proxy that is named without a scheme, or with one in capitals", async (context) => {
  const { url, asked } = await environmentProxy(context);
  for (const named of [url.replace("http://", ""), url.replace("http", "HTTP")]) {
    process.env["HTTPS_PROXY"] = named;
    await askEach(["signet.invalid:6443"]);
    await askEach(["own.invalid:6443"], { proxyUrl: url.replace("http", "HTTP") });
  }
  assert.deepEqual(asked, ["signet.invalid:6443", "own.invalid:6443", "signet.invalid:6443", "own.invalid:6443"]);
});

test("requests are not sent past a proxy of HTTPS_PROXY that cannot be used", async (context) => {
  await environmentProxy(context);
  for (const named of ["socks5://user:secret@127.0.0.1:1080", "http://", "a b"]) {
    process.env["HTTPS_PROXY"] = named;
    const transport = httpsTransport({ server: "https://signet.invalid:6443" });
    context.after(() => transport.close());
    await assert.rejects(transport.send({ method: "GET", path: "/" }), {
      code: "ERR_PROXY_TUNNEL",
      message: "HTTPS_PROXY does not name one that begins with http:// or https://",
    });
  }
});

test("requests to a server with a proxy of its own go through that, also on loopback and whatever NO_PROXY says", async (context) => {
  const { url: proxyUrl, asked } = await refusingProxy(context);
  process.env["NO_PROXY"] = "*";
  context.after(() => {
    delete process.env["NO_PROXY"];
  });
  await askEach(["signet.invalid:6443", "127.0.0.1:1"], { proxyUrl });
  assert.deepEqual(asked, ["signet.invalid:6443", "127.0.0.1:1"]);
});

test("a proxy or a server behind it that hangs ends with the request, or after the silence, and keeps no connection", async (context) => {
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
  for (const answer of ["", "HTTP/1.1 200 OK\r\n\r\n"]) {
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const proxy = createProxy().on("connect", (_request, socket) => {
      socket.on("end", () => socket.end()).on("error", () => {});
      socket.on("close", () => closed.resolve()).resume();
      socket.write(answer);
      asked.resolve();
    });
    const proxyUrl = await listenAsProxy(proxy, context);
    const patient = httpsTransport({ server: "https://signet.invalid", proxyUrl });
    const reason = new Error("given up");
    const ending = new AbortController();
    const timersBefore = timers();
    const sent = patient.send({ method: "GET", path: "/", signal: ending.signal });
    await asked.promise;
    ending.abort(reason);
    await assert.rejects(sent, (error: Error) => error === reason || error.cause === reason);
    await closed.promise;
    assert.ok(timers() <= timersBefore);
    const impatient = httpsTransport({ server: "https://signet.invalid", proxyUrl, timeoutMilliseconds: 1 });
    await assert.rejects(
      impatient.send({ method: "GET", path: "/" }),
      (error: Error) =>
        connectionFault(error, "the kubeconfig")?.text.startsWith("there is no way through the proxy") === true,
    );
  }
});

test("a connection to a proxy that refuses, and keeps it open, is closed", async (context) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const proxy = createProxy().on("connect", (_request, socket) => {
    socket.on("end", () => socket.end()).on("error", () => {});
    socket.on("close", () => resolve()).resume();
    socket.write("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
  });
  const proxyUrl = await listenAsProxy(proxy, context);
  const transport = httpsTransport({ server: "https://signet.invalid", proxyUrl });
  await assert.rejects(transport.send({ method: "GET", path: "/" }), /407/);
  await closed;
});

test("a proxy that cannot be reached is not mistaken for the server", async () => {
  for (const proxyUrl of ["http://127.0.0.1:1", "http://proxy.invalid:3128"]) {
    const transport = httpsTransport({ server: "https://127.0.0.1:1", proxyUrl });
    await assert.rejects(transport.send({ method: "GET", path: "/" }), (error: Error) =>
      /^there is no way through the proxy \((?:connect ECONNREFUSED 127\.0\.0\.1:1|getaddrinfo \w+ proxy\.invalid)\); check the proxy/.test(
        connectionFault(error, "the kubeconfig")?.text ?? "",
      ),
    );
    transport.close();
  }
  const transport = httpsTransport({ server: "https://127.0.0.1:1" });
  await assert.rejects(transport.send({ method: "GET", path: "/" }), { code: "ECONNREFUSED" });
  transport.close();
});
