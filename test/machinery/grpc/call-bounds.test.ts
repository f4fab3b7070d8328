import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AnswerTooLong, GrpcError, grpcStatus } from "../../../src/machinery/grpc/grpc-error.ts";
import { encodeFrame } from "../../../src/machinery/grpc/grpc-frames.ts";
import { answer, openFakeServer } from "./fake-server.ts";

const message = Buffer.alloc(0);
const text = Buffer.from("an answer in three parts");
const [first, second, third] = cutInThree(encodeFrame(text));
const whole = [answer.head, answer.part(encodeFrame(text)), answer.end];

const bounds = { timeoutMilliseconds: 60_000, silenceMilliseconds: 1_500 };

/** A server, and timers that the test moves. */
function fakeServer(context: TestContext): ReturnType<typeof openFakeServer> {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  return openFakeServer();
}

describe("the time and size limits of a gRPC call", () => {
  const isSilence = (error: unknown): boolean =>
    error instanceof GrpcError && !(error instanceof AnswerTooLong) && error.code === grpcStatus.deadlineExceeded;

  it("let an answer take as long as it likes while its parts keep arriving", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, ...bounds });
    await nextTurn();
    for (const part of [first, second, third]) {
      context.mock.timers.tick(1_000);
      server.send(...(part === first ? [answer.head] : []), answer.part(part));
      await server.untilRead();
    }
    context.mock.timers.tick(1_000);
    server.send(answer.end);
    assert.deepEqual(await call, text);
  });

  it("end a call whose answer does not begin", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, ...bounds });
    await nextTurn();
    context.mock.timers.tick(1_500);
    await assert.rejects(call, isSilence);
  });

  it("end a call whose answer stops in the middle", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, ...bounds });
    await nextTurn();
    context.mock.timers.tick(1_000);
    server.send(answer.head, answer.part(first));
    await server.untilRead();
    context.mock.timers.tick(1_500);
    await assert.rejects(call, isSilence);
  });

  it("end a call whose answer takes too long in all", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, timeoutMilliseconds: 2_000, silenceMilliseconds: 1_500 });
    await nextTurn();
    context.mock.timers.tick(1_000);
    server.send(answer.head, answer.part(first));
    await server.untilRead();
    context.mock.timers.tick(1_000);
    await assert.rejects(call, AnswerTooLong);
  });

  it("end a call whose answer has too many bytes", async () => {
    await using server = await openFakeServer();
    const call = server.channel.unary("/x/Y", {
      message,
      timeoutMilliseconds: 60_000,
      maximumMessageBytes: text.length - 1,
    });
    await nextTurn();
    server.send(...whole);
    await assert.rejects(call, AnswerTooLong);
  });

  it("do not count the time before the request is sent", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, timeoutMilliseconds: 1_500 });
    context.mock.timers.tick(10_000);
    await nextTurn();
    server.send(...whole);
    assert.deepEqual(await call, text);
  });

  it("accept an answer that has arrived while this process was too busy to read it", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, timeoutMilliseconds: 1_500 });
    await nextTurn();
    server.send(...whole);
    context.mock.timers.tick(10_000);
    assert.deepEqual(await call, text);
  });
});

describe("a gRPC channel whose ping is not answered", () => {
  it("stays open as long as the server sends something else", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 });
    await nextTurn();
    context.mock.timers.tick(6_000);
    await nextTurn();
    server.send(answer.head, answer.part(first));
    context.mock.timers.tick(3_000);
    await server.untilRead();
    await nextTurn();
    server.send(answer.part(second), answer.part(third));
    context.mock.timers.tick(3_000);
    await server.untilRead();
    server.send(answer.end);
    assert.deepEqual(await call, text);
  });

  it("closes when the server sends nothing", async (context) => {
    await using server = await fakeServer(context);
    const call = server.channel.unary("/x/Y", { message, timeoutMilliseconds: 60_000 });
    await nextTurn();
    context.mock.timers.tick(6_000);
    await nextTurn();
    context.mock.timers.tick(3_000);
    await assert.rejects(call, { code: grpcStatus.unavailable });
    assert.equal(server.channel.isOpen, false);
  });
});

function cutInThree(bytes: Buffer): readonly [Buffer, Buffer, Buffer] {
  return [bytes.subarray(0, 7), bytes.subarray(7, 14), bytes.subarray(14)];
}
