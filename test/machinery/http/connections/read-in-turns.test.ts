import assert from "node:assert/strict";
import { Socket } from "node:net";
import { constants } from "node:os";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PipelinedRequests } from "../../../../src/machinery/http/connections/http1/pipelined-requests.ts";
import { readInTurns } from "../../../../src/machinery/http/connections/read-in-turns.ts";
import { WaitingRequests } from "../../../../src/machinery/http/connections/waiting-requests.ts";
import { takeTurnForEachLook, turnsOfTest } from "../../../turns-during.ts";

/** Connections of which each has sent three parts, and what is read of them until all is. */
async function readAll(
  turnsSoFar: () => number,
): Promise<{ readonly turns: readonly number[]; readonly texts: readonly string[] }> {
  // What came in the test before was in another turn.
  await nextTurn();
  const turns: number[] = [];
  const texts: string[] = Array.from({ length: 30 }, () => "");
  await Promise.all(
    texts.map((_, at) => {
      const socket = new Socket();
      const waiting = new WaitingRequests(socket);
      return new Promise<void>((resolve) => {
        readInTurns(socket, {
          waiting: () => waiting,
          read: (bytes) => {
            turns.push(turnsSoFar());
            texts[at] += String(bytes);
            if (texts[at] === "abc") resolve();
          },
        });
        for (const part of "abc") socket.push(part);
      });
    }),
  );
  return { turns, texts };
}

/** A socket that adds to `done` when its kernel's buffer is not read any more, and when it is read again. */
function socketOfKernel(done: string[]): Socket {
  let isRead = true;
  const turnTo = (isReadNow: boolean): void => {
    if (isRead !== isReadNow) done.push(isReadNow ? "start" : "stop");
    isRead = isReadNow;
  };
  const handle = { reading: true, readStop: () => turnTo(false), readStart: () => turnTo(true) };
  return Object.assign(new Socket(), { _handle: handle });
}

describe("what comes on connections", () => {
  it("is read at once as long as that takes less than a turn", async (t) => {
    takeTurnForEachLook(t).allInOneTurn();
    const { turns, texts } = await readAll(turnsOfTest(t));
    assert.deepEqual(new Set(texts), new Set(["abc"]));
    assert.equal(new Set(turns).size, 1);
  });

  it("is read in several turns of the event loop, in its order", async (t) => {
    takeTurnForEachLook(t);
    const { turns, texts } = await readAll(turnsOfTest(t));
    assert.deepEqual(new Set(texts), new Set(["abc"]));
    // In each turn, one part is read at once, and one that has waited.
    assert.ok(new Set(turns).size >= 45, `${new Set(turns).size}`);
  });

  it("stays in the kernel while what came before it waits for its turn", async (t) => {
    await nextTurn();
    takeTurnForEachLook(t);
    const done: string[] = [];
    const socket = socketOfKernel(done);
    const waiting = new WaitingRequests(socket);
    await new Promise<void>((resolve) => {
      readInTurns(socket, {
        waiting: () => waiting,
        read: (bytes) => {
          done.push(String(bytes));
          if (String(bytes) === "b") resolve();
        },
      });
      for (const part of "ab") socket.push(part);
    });
    assert.deepEqual(done, ["a", "stop", "start", "b"]);
  });

  it("stays in the kernel while a request that came before it waits for its turn", async () => {
    const done: string[] = [];
    const socket = socketOfKernel(done);
    const waiting = new WaitingRequests(socket);
    readInTurns(socket, { waiting: () => waiting, read: () => {} });
    await waiting.turn();
    await nextTurn();
    assert.deepEqual(done, ["stop", "start"]);
  });

  it("stays in the kernel while Node.js pauses one whose client does not read its answers, also after a request had its turn", async () => {
    const done: string[] = [];
    const socket = Object.assign(socketOfKernel(done), { _paused: true });
    const waiting = new PipelinedRequests(socket);
    readInTurns(socket, { waiting: () => waiting, read: () => {} });
    await waiting.turn();
    await nextTurn();
    assert.deepEqual(done, ["stop"]);
    socket.resume();
    await nextTurn();
    assert.deepEqual(done, ["stop", "start"]);
  });

  it("is read on by Node.js alone when so much waits that it does not read either", async (t) => {
    await nextTurn();
    takeTurnForEachLook(t);
    const socket = new Socket().pause();
    let isRead = false;
    const readStart = (): number => (isRead ? -constants.errno.EALREADY : ((isRead = true), 0));
    Object.assign(socket, { _handle: { reading: false, readStop: () => (isRead = false), readStart } });
    const waiting = new WaitingRequests(socket);
    socket.on("error", () => undefined); // seen below
    await new Promise<void>((resolve) => {
      readInTurns(socket, { waiting: () => waiting, read: ({ length }) => void (length > 1 && resolve()) });
      for (const part of ["a", "b", "c".repeat(socket.readableHighWaterMark)]) socket.push(part);
      socket.resume();
    });
    assert.equal(socket.errored, null);
  });
});
