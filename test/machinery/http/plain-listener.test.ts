import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { plainText } from "../../../src/machinery/http/plain-text.ts";
import { startPlainListener } from "../../../src/machinery/http/plain-listener.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../turns-during.ts";

const log = { info: () => undefined, error: () => assert.fail("every request is answered") };

describe("requests over plain HTTP that come at once", () => {
  it("are answered in several turns of the event loop, and in their order on each connection", async (t) => {
    takeTurnForEachLook(t);
    const turnsSoFar = turnsOfTest(t);
    const turns = new Set<number>();
    const listener = await startPlainListener({
      host: "127.0.0.1",
      port: 0,
      isPortShared: false,
      log,
      answer: async ({ path }) => {
        turns.add(turnsSoFar());
        return plainText(200, `answer to ${path}\n`);
      },
    });
    t.after(() => listener.close());
    const sockets = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
        await once(socket, "connect");
        return socket;
      }),
    );
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const requests = numbers.map((index) => `GET /${index} HTTP/1.1\r\nHost: h\r\n`).join("\r\n");
    for (const socket of sockets) socket.write(`${requests}Connection: close\r\n\r\n`);
    for (const answers of await Promise.all(sockets.map(text))) {
      const answered = [...answers.matchAll(/^answer to \/(\d+)$/gm)].map(([, index]) => Number(index));
      assert.deepEqual(answered, numbers);
    }
    // In each turn, one is answered at once, and one that has waited.
    assert.ok(turns.size >= 100, `${turns.size}`);
  });
});
