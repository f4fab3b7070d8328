import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { createServer as createSilentServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { serverCertificates } from "../../../../src/machinery/client/https/server-certificates.ts";
import { newPair } from "../../../agent/new-pair.ts";
import { environmentProxy } from "./refusing-proxy.ts";

const { keyPem, certificatePem } = newPair();

async function listening(context: TestContext, server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on a port
}

describe("the certificates of a server", () => {
  it("are those that it presents, to a caller who sends no request", async (context) => {
    const requests: unknown[] = [];
    const server = createServer({ key: keyPem, cert: certificatePem }, (request) => requests.push(request.url));
    const options = { server: await listening(context, server), skipsServerVerification: true };
    const [shown] = await serverCertificates(options, 60_000);
    assert.equal(shown?.toString("base64"), certificatePem.replaceAll(/-----.*-----|\s/g, ""));
    assert.deepEqual(requests, []);
    await assert.rejects(serverCertificates({ server: options.server }, 60_000), /certificate/);
  });

  it("are read through the proxy of HTTPS_PROXY", async (context) => {
    const { asked } = await environmentProxy(context);
    await assert.rejects(serverCertificates({ server: "https://signet.invalid:6443" }, 60_000), /502/);
    assert.deepEqual(asked, ["signet.invalid:6443"]);
  });

  it("are not waited for longer than the caller says, with a proxy and without", async (context) => {
    const silent = await listening(
      context,
      createSilentServer((socket) => socket.on("error", () => {})),
    );
    const isLate = { name: "TimeoutError" };
    await assert.rejects(serverCertificates({ server: silent }, 1), isLate);
    const proxyUrl = silent.replace("https:", "http:");
    await assert.rejects(serverCertificates({ server: "https://signet.invalid", proxyUrl }, 1), isLate);
  });
});
