import assert from "node:assert/strict";
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { ApiError } from "../../../../../src/machinery/api/api-error.ts";
import { Http1Body } from "../../../../../src/machinery/http/connections/http1/http1-body.ts";
import { PipelinedRequests } from "../../../../../src/machinery/http/connections/http1/pipelined-requests.ts";

interface Scene {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly body: Http1Body;
  /** Hands on parts as the parser of Node.js does. */
  readonly receive: (length: number, partLength: number) => void;
  readonly end: () => void;
}

/** All that comes in a test comes in no time, unless the test says otherwise. */
function newScene(context: TestContext): Scene {
  context.mock.method(performance, "now", () => 0);
  const socket = new Socket();
  const request = new IncomingMessage(socket);
  const waiting = new PipelinedRequests(socket);
  const body = new Http1Body(request, () => waiting);
  return {
    request,
    socket,
    body,
    receive(length, partLength) {
      for (let sent = 0; sent < length; sent += partLength) request.push(Buffer.alloc(partLength, "a"));
    },
    end() {
      request.complete = true;
      request.push(null);
    },
  };
}

const read = (body: Http1Body, maximumBytes = 1_000_000): Promise<Buffer> =>
  new Promise((whole, failed) => body.read({ maximumBytes, whole, failed }));

const readOn = async (socket: Socket): Promise<void> => {
  if (socket.isPaused()) await once(socket, "resume");
};

const isStatus =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof ApiError && error.code === code;

describe("the body of a request over HTTP/1.1", () => {
  it("is kept in one piece and not in the parts in which it comes", async (t) => {
    const { request, body, receive, end } = newScene(t);
    receive(1000, 1);
    assert.equal(request.readableLength, 0);
    receive(1000, 1);
    end();
    assert.equal(String(await read(body)), "a".repeat(2000));
  });

  it("is whole also when its last part comes only after somebody has begun to read it", async (t) => {
    const { body, receive, end } = newScene(t);
    receive(10, 10);
    const reading = read(body);
    receive(10, 10);
    end();
    assert.equal((await reading).length, 20);
  });

  it("keeps its connection from being read when too much of it is unread, until somebody reads it", async (t) => {
    const { socket, body, receive, end } = newScene(t);
    receive(64 * 1024, 1024);
    assert.ok(!socket.isPaused());
    receive(1, 1);
    assert.ok(socket.isPaused());
    socket.resume();
    await once(socket, "pause");
    const reading = read(body);
    await readOn(socket);
    receive(100_000, 1000);
    end();
    assert.equal((await reading).length, 64 * 1024 + 1 + 100_000);
  });

  for (const [event, happens] of [
    ["its request is answered", ({ body }: Scene) => body.drop()],
    ["it is whole", ({ end }: Scene) => end()],
    ["what follows is malformed", ({ body }: Scene) => body.breakOff()],
  ] as const) {
    it(`lets its connection be read on when too much of it is unread and ${event}`, async (t) => {
      const scene = newScene(t);
      scene.receive(64 * 1024 + 1, 64 * 1024 + 1);
      assert.ok(scene.socket.isPaused());
      happens(scene);
      await readOn(scene.socket);
    });
  }

  it("is refused as soon as it is too long, and the rest is dropped", async (t) => {
    const { socket, body, receive } = newScene(t);
    const reading = read(body, 10);
    receive(11, 1);
    await assert.rejects(reading, isStatus(413));
    receive(100_000, 1000);
    assert.ok(!socket.isPaused());
  });

  it("is refused when it was too long before somebody read it", async (t) => {
    const { body, receive, end } = newScene(t);
    receive(11, 1);
    end();
    await assert.rejects(read(body, 10), isStatus(413));
  });

  for (const when of ["before", "after"]) {
    it(`fails when its connection closes ${when} somebody begins to read it`, async (t) => {
      const { request, body } = newScene(t);
      const early = when === "after" ? read(body) : undefined;
      request.destroy();
      await once(request, "close");
      await assert.rejects(early ?? read(body), isStatus(400));
    });

    it(`fails when its rest is malformed ${when} somebody begins to read it`, async (t) => {
      const { body } = newScene(t);
      const early = when === "after" ? read(body) : undefined;
      body.breakOff();
      await assert.rejects(early ?? read(body), isStatus(400));
    });
  }

  it("is there when what follows it is malformed", async (t) => {
    const { request, body, receive, end } = newScene(t);
    receive(3, 1);
    request.complete = true;
    body.breakOff();
    end();
    assert.equal(String(await read(body)), "aaa");
  });
});
