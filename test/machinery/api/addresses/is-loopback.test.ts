import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLoopback } from "../../../../src/machinery/api/addresses/is-loopback.ts";

describe("a loopback host", () => {
  it("is localhost or a loopback address, in URLs too", () => {
    const hosts = ["localhost", "LocalHost", "127.0.0.1", "127.8.9.10", "::1", "0:0:0:0:0:0:0:1", "[::1]"];
    for (const host of [...hosts, "::ffff:127.0.0.1"]) assert.equal(isLoopback(host), true, host);
  });

  it("is not another machine whose name or address looks like one", () => {
    const hosts = ["127.0.0.1.example.com", "127.example", "localhost.example", "::", "0.0.0.0", "10.0.0.1", "::2", ""];
    for (const host of hosts) assert.equal(isLoopback(host), false, host);
  });
});
