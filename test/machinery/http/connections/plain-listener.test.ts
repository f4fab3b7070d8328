import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { plainText } from "../../../../src/machinery/http/plain-text.ts";
import { startPlainListener } from "../../../../src/machinery/http/connections/plain-listener.ts";
import type { PlainListener, PlainRequest } from "../../../../src/machinery/http/connections/plain-listener.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../../turns-during.ts";
import { turnsOfRequests } from "../../scheduling/turns-of-requests.ts";

const log = { info: () => undefined, error: () => assert.fail("every request is answered") };

const connections = (listener: PlainListener, count: number): Promise<Socket[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
      await once(socket, "connect");
      return socket;
    }),
  );

it("plain HTTP answers however many idle connections are open, of which the oldest end", async (t) => {
  const answer = async (): Promise<HttpResponse> => plainText(200, "answer\n");
  const where = { host: "127.0.0.1", port: 0, isPortShared: false };
  const listener = await startPlainListener({ ...where, log, answer });
  t.after(() => listener.close());
  const [oldest, ...others] = await connections(listener, 100);
  assert.ok(oldest !== undefined);
  const ended = once(oldest, "close");
  const [asking] = await connections(listener, 1);
  assert.ok(asking !== undefined);
  asking.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  assert.match(await text(asking), /\nanswer\n$/);
  oldest.resume();
  await ended;
  assert.ok(others.every(({ readyState }) => readyState === "open"));
});

it("plain HTTP shortens the turns of requests when it accepts a connection, so that it soon accepts the next", async (t) => {
  const where = { host: "127.0.0.1", port: 0, isPortShared: false };
  const listener = await startPlainListener({ ...where, log, answer: () => assert.fail("it is no request") });
  t.after(() => listener.close());
  const turns = turnsOfRequests(t);
  await turns.useUp();
  assert.equal(await turns.ofThree(), 1);
  await connections(listener, 1);
  for (let waits = 0; waits < 1000 && (await turns.ofThree()) === 1; waits++) await nextTurn();
  assert.equal(await turns.ofThree(), 3);
});

it("plain HTTP answers what is no request, or has too long headers, and ends the connection", async (t) => {
  const where = { host: "127.0.0.1", port: 0, isPortShared: false };
  const listener = await startPlainListener({ ...where, log, answer: () => assert.fail("it is no request") });
  t.after(() => listener.close());
  const [malformed, long] = await connections(listener, 2);
  assert.ok(malformed !== undefined && long !== undefined);
  malformed.write("\x16\x03\x01\r\n\r\n");
  assert.match(await text(malformed), /^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n\r\n$/);
  long.write(`GET / HTTP/1.1\r\nHost: h\r\nLong: ${"a".repeat(17 * 1024)}`);
  assert.match(await text(long), /^HTTP\/1\.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n$/);
});

it("plain HTTP logs nothing when a client breaks its request off", async (t) => {
  const bodyFailed = Promise.withResolvers<void>();
  const answer = async ({ readBody }: PlainRequest): Promise<HttpResponse> => {
    await readBody(10).finally(bodyFailed.resolve);
    return assert.fail("the body has not come");
  };
  const where = { host: "127.0.0.1", port: 0, isPortShared: false };
  const listener = await startPlainListener({ ...where, log, answer });
  t.after(() => listener.close());
  const [leaving, malformed] = await connections(listener, 2);
  assert.ok(leaving !== undefined && malformed !== undefined);
  leaving.end("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nbegin");
  await bodyFailed.promise;
  malformed.write("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n");
  assert.match(await text(malformed), /^HTTP\/1\.1 400 /);
});

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
    const sockets = await connections(listener, 30);
    const requests = "GET /0 HTTP/1.1\r\nHost: h\r\n\r\nGET /1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for (const socket of sockets) socket.write(requests);
    for (const answers of await Promise.all(sockets.map(text))) {
      const answered = [...answers.matchAll(/^answer to \/(\d)$/gm)].map(([, number]) => Number(number));
      assert.deepEqual(answered, [0, 1]);
    }
    // In each turn, one is answered at once, and one that has waited.
    assert.ok(turns.size >= 15, `${turns.size}`);
  });

  it("get no more than two answers when their client does not wait for them", async (t) => {
    let made = 0;
    const answer = async (): Promise<HttpResponse> => plainText(200, `${++made}\n`);
    const listener = await startPlainListener({ host: "127.0.0.1", port: 0, isPortShared: false, log, answer });
    t.after(() => listener.close());
    const [socket] = await connections(listener, 1);
    assert.ok(socket !== undefined);
    socket.on("error", () => undefined); // it may be reset
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(1000));
    socket.resume();
    await once(socket, "close");
    assert.ok(made <= 2, `${made}`);
  });
});
