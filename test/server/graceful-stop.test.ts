import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { after, before, describe, it } from "node:test";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";

const clientCount = 8;
/** How many requests each client makes, on both servers together. */
const requestsPerClient = 60;
/** The first server is told to stop when so many answers have come. */
const stopAfter = 100;

describe("a server that is stopped under load", () => {
  let servers: readonly [TestServer, TestServer];

  before(async () => {
    servers = [await startTestServer(), await startTestServer()];
  });
  after(() => servers[1].stop());

  it("answers every request that it took, and its clients go on with the other one without a failure", async () => {
    const answered = new Map<TestServer, number>(servers.map((server) => [server, 0]));
    const failures: string[] = [];
    let total = 0;
    let stopped: Promise<void> | undefined;

    const ask = async (session: ClientHttp2Session, server: TestServer): Promise<boolean> => {
      const stream = session.request({
        ":path": "/api/v1/namespaces/default/configmaps",
        authorization: `Bearer ${server.adminToken}`,
      });
      try {
        const [headers] = (await once(stream, "response")) as [{ readonly ":status": number }];
        stream.resume();
        await once(stream, "close");
        if (headers[":status"] !== 200) failures.push(`status ${headers[":status"]}`);
        return true;
      } catch {
        // The server says that it did not take the request (RFC 9113, section 8.7): it is safe to send it elsewhere.
        if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) failures.push(`reset with ${stream.rstCode}`);
        return false;
      }
    };

    const client = async (): Promise<void> => {
      let server = servers[0];
      let session = connect(server.url, { ca: server.caCertificates });
      session.on("error", (error) => failures.push(error.message));
      for (let count = 0; count < requestsPerClient;) {
        if (session.closed || session.destroyed) {
          server = servers[1];
          session = connect(server.url, { ca: server.caCertificates });
        }
        if (!(await ask(session, server))) continue;
        count += 1;
        total += 1;
        answered.set(server, (answered.get(server) ?? 0) + 1);
        if (total === stopAfter) stopped = servers[0].stop({ graceMilliseconds: 10_000 });
      }
      session.close();
    };

    await Promise.all(Array.from({ length: clientCount }, client));
    await stopped;
    assert.deepEqual(failures, []);
    assert.equal(total, clientCount * requestsPerClient);
    assert.ok((answered.get(servers[0]) ?? 0) >= stopAfter);
    assert.ok((answered.get(servers[1]) ?? 0) > 0);
  });
});
