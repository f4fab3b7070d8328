import assert from "node:assert/strict";
import { createServer, connect } from "node:net";
import type { AddressInfo, LookupFunction } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import { messageOf } from "../../../src/machinery/api/thrown-error.ts";

test("the message of a connection that no address of a host takes is its code: Node.js gives it none", async () => {
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const { port } = free.address() as AddressInfo; // it listens on a port
  free.close();
  await once(free, "close");
  const lookup: LookupFunction = (_host, _options, callback) =>
    callback(null, [
      { address: "127.0.0.1", family: 4 },
      { address: "127.0.0.2", family: 4 },
    ]);
  const [error] = (await once(connect({ host: "two.example", port, lookup }), "error")) as [Error];
  assert.equal(error.message, "");
  assert.equal(messageOf(error), "ECONNREFUSED");
});

test("what was thrown and is no Error is its own message", () => {
  assert.equal(messageOf("gone"), "gone");
  assert.equal(messageOf(undefined), "undefined");
});

test("the message of a certificate from an unknown CA leaves out how Node.js would be started", () => {
  const thrown = new Error(
    "unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca",
  );
  assert.equal(messageOf(thrown), "unable to verify the first certificate");
});
