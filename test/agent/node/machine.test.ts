import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { addressTowards } from "../../../src/agent/node/machine.ts";

test("the machine's address towards a server is that of the connection, and the wait for it ends with the agent", async (context) => {
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  assert.equal(await addressTowards(["https://127.0.0.1:1", url], new AbortController().signal), "127.0.0.1");
  const stopping = new AbortController();
  const address = addressTowards([url, url], stopping.signal);
  stopping.abort();
  await assert.rejects(address, { name: "AbortError" });
});
