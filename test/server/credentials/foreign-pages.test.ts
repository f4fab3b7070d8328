import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

describe("a web page of another server", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
  });

  /** What a browser with its user's certificate sends without asking the server first: fetch() in the mode no-cors. */
  const statusOf = async (name: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> => {
    const pem = readFileSync(join(server.dataDirectory, "admin.pem"));
    const tls = { cert: pem, key: pem, rejectUnauthorized: false };
    const url = `https://127.0.0.1:${server.port}${configMaps}`;
    const request = httpsRequest(url, { ...tls, method: "POST", headers, agent: false });
    request.end(JSON.stringify({ metadata: { name } }));
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };

  it("cannot write with its visitor's client certificate", async () => {
    for (const origin of ["https://evil.example", "null"]) {
      assert.equal(await statusOf("a", { origin }), 415, "no type, as of a Blob");
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
        assert.equal(await statusOf("a", { origin, "content-type": type }), 415, type);
      }
    }
    assert.equal(
      await statusOf("of-a-dashboard", { origin: "https://dashboard.example", "content-type": "application/json" }),
      201,
    );
    assert.equal(await statusOf("of-a-program", {}), 201);
  });
});
