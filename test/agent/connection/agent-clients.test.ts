import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentClients } from "../../../src/agent/connection/agent-clients.ts";
import type { AgentClientsOptions } from "../../../src/agent/connection/agent-clients.ts";
import { ServerClock } from "../../../src/agent/connection/server-clock.ts";
import { sleep, systemClock } from "../../../src/machinery/api/clock.ts";
import { connectionTimeout } from "../../../src/machinery/client/https/connections.ts";
import type { ClientResponse } from "../../../src/machinery/client/transport.ts";
import { settingsOf } from "../settings-of.ts";

/** The client of a machine without a certificate, whose servers answer as they are told to. */
const clientOf = (
  answers: Readonly<Record<string, () => ClientResponse>>,
  times: Pick<AgentClientsOptions, "monotonic" | "sleep"> = { monotonic: performance, sleep },
) =>
  new AgentClients({
    ...times,
    access: settingsOf({
      servers: Object.keys(answers),
      caCertificates: () => undefined,
      bootstrap: { type: "none" },
      dataDirectory: "",
    }),
    clientCertificate: () => undefined,
    serverClock: new ServerClock({ local: systemClock, onSkew: () => {} }),
    userAgent: "test",
    connect: ({ server }) => ({ send: async () => answers[server]?.() ?? assert.fail(), close: () => {} }),
  }).node;

async function* page(): ClientResponse["body"] {
  yield Buffer.from("<h1>Bad gateway</h1>");
}

async function* groups(): ClientResponse["body"] {
  yield Buffer.from('{"groups":[]}');
}

async function* unfinished(server: string): ClientResponse["body"] {
  yield Buffer.from('{"groups":');
  throw connectionTimeout({ server });
}

test("an answer of a proxy shows its code, whatever the code would mean of the server", async () => {
  for (const status of [401, 403, 502]) {
    const client = clientOf({ "https://one": () => ({ status, headers: {}, body: page() }) });
    const message = `the server answered ${status} without a reason, as a proxy does: <h1>Bad gateway</h1>`;
    await assert.rejects(client.request("/apis"), { message });
  }
});

test("an answer that does not come to its end names its server, and the next request goes to the next one", async () => {
  const client = clientOf({
    "https://one": () => ({ status: 200, headers: {}, body: unfinished("https://one") }),
    "https://two": () => ({ status: 200, headers: {}, body: groups() }),
  });
  await assert.rejects(client.request("/apis"), {
    message: "cannot reach the server https://one: it did not answer in time; check the network and the server's URL",
  });
  assert.deepEqual(await client.request("/apis"), { groups: [] });
});

test("a web page in place of an answer, or a way to one, names its server, and the next request goes to the next one", async () => {
  const html = { "content-type": "text/html; charset=utf-8" };
  for (const [status, headers] of [
    [200, html],
    [302, html],
    [308, {}],
  ] as const) {
    const client = clientOf({
      "https://one": () => ({ status, headers, body: page() }),
      "https://two": () => ({ status: 200, headers: { "content-type": "application/json" }, body: groups() }),
    });
    await assert.rejects(client.request("/apis"), {
      message:
        "cannot reach the server https://one: a web page, or a way to one, came in place of its answer, as of a proxy or a login; check the server's URL, and the proxy",
    });
    assert.deepEqual(await client.request("/apis"), { groups: [] });
  }
});

test("a web page is not read on, as it may be endless in place of a watch", async () => {
  let isEnded = false;
  async function* endless(): ClientResponse["body"] {
    try {
      yield Buffer.from("<h1>");
      assert.fail("it was read on");
    } finally {
      isEnded = true;
    }
  }
  const client = clientOf({
    "https://one": () => ({ status: 200, headers: { "content-type": "text/html" }, body: endless() }),
  });
  await assert.rejects(
    client.stream("/apis", { query: "watch=true" }),
    /a web page, or a way to one, came in place of its answer/,
  );
  assert.ok(isEnded);
});

test("an answer that is much work is read in the pace of the agent's clocks", async () => {
  let now = 0;
  const rests: number[] = [];
  async function* two(): ClientResponse["body"] {
    yield Buffer.from("{");
    yield Buffer.from("}");
  }
  const client = clientOf(
    { "https://one": () => ({ status: 200, headers: {}, body: two() }) },
    { monotonic: { now: () => now }, sleep: async (milliseconds) => void rests.push(milliseconds) },
  );
  const { body } = await client.stream("/apis", {});
  for await (const _ of body) now += 100;
  assert.deepEqual(rests, [400, 400], "four times as long as the work on each part took");
});
