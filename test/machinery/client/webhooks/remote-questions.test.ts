import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { FailedAnswer, TransientFailure } from "../../../../src/machinery/client/webhooks/post-json.ts";
import { RemoteQuestions, RemoteUnavailable } from "../../../../src/machinery/client/webhooks/remote-questions.ts";
import type { RemoteQuestionsOptions } from "../../../../src/machinery/client/webhooks/remote-questions.ts";
import { sharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import { TestClock } from "../../../features/accounts/tokens/token-scene.ts";
import { collectGarbage } from "../../../collect-garbage.ts";

const mebibyte = 2 ** 20;

describe("questions to another server", () => {
  let clock: TestClock;
  let questions: RemoteQuestions<string>;
  let changes: boolean[];
  beforeEach(() => {
    clock = new TestClock();
    changes = [];
    questions = open({ failuresOfAsker: 5, askers: 5 });
  });
  const open = (pauseAfter: RemoteQuestionsOptions<string>["pauseAfter"]): RemoteQuestions<string> =>
    new RemoteQuestions({
      clock,
      maximumPending: 100,
      pauseAfter,
      maximumKept: 1000,
      keep: () => ({ isGood: true, milliseconds: 60_000 }),
      onChange: ({ isAvailable }) => changes.push(isAvailable),
    });
  let number = 0;
  const named = (username: string): UserInfo => ({ username, groups: [], extra: {} });
  const ask = async (asker: string, answer: () => Promise<string>): Promise<string> =>
    questions.ask({ key: `q-${(number += 1)}`, asker: () => sharePath(named(asker)) }, answer);
  const answered = async (): Promise<string> => "yes";
  const failsWith = (error: Error) => async (): Promise<string> => {
    throw error;
  };
  const cut = failsWith(new TransientFailure("the connection ended"));
  const failTimes = async (count: number, ...askers: readonly string[]): Promise<void> => {
    for (let index = 0; index < count; index++) {
      await assert.rejects(ask(askers[index % askers.length] ?? "", cut));
    }
  };

  it("are asked on by others, however many of one asker's get no answer", async () => {
    await failTimes(5, "eve");
    await assert.rejects(ask("eve", answered), RemoteUnavailable);
    assert.equal(await ask("ada", answered), "yes");
    assert.equal(await ask("eve", answered), "yes", "the other side is well");
    assert.deepEqual(changes, [false, true]);
  });

  it("are refused at once for all when those of many askers get no answer, and one tries again after a pause", async () => {
    await failTimes(5, "eve", "ada", "joe", "kim", "lee");
    await assert.rejects(ask("bob", answered), RemoteUnavailable);
    clock.passSeconds(10);
    await assert.rejects(ask("bob", cut), TransientFailure);
    await assert.rejects(ask("eve", answered), RemoteUnavailable);
    clock.passSeconds(10);
    assert.equal(await ask("bob", answered), "yes");
    assert.deepEqual(changes, [false, true]);
  });

  it("are asked on by others, however many service accounts of one namespace get no answer", async () => {
    await failTimes(5, "system:serviceaccount:evil:a", "system:serviceaccount:evil:b");
    await assert.rejects(ask("system:serviceaccount:evil:c", answered), RemoteUnavailable);
    assert.equal(await ask("system:serviceaccount:good:a", answered), "yes");
  });

  it("are asked on by others, however many of a few askers' get no answer", async () => {
    await failTimes(10, "eve", "mallory");
    for (const asker of ["eve", "mallory"]) await assert.rejects(ask(asker, answered), RemoteUnavailable);
    assert.equal(await ask("ada", answered), "yes");
  });

  it("are asked on by others where anybody can make up askers, however many of those get no answer", async () => {
    questions = open({ failuresOfAsker: 5, askers: Infinity });
    await failTimes(5, "eve");
    await failTimes(998, ...Array.from({ length: 998 }, (_, index) => `made-up-${index}`));
    await assert.rejects(ask("eve", answered), RemoteUnavailable);
    await failTimes(2, "one more", "and another");
    assert.equal(await ask("eve", answered), "yes", "it is forgotten: a thousand are remembered");
  });

  it("are asked on where only many askers open a pause, however many of one asker's get no answer", async () => {
    questions = open({ failuresOfAsker: Infinity, askers: 5 });
    await failTimes(20, "eve");
    assert.equal(await ask("eve", answered), "yes");
  });

  it("do not count as failed when others were answered meanwhile", async () => {
    const ends: (() => void)[] = [];
    const late = (): Promise<string> =>
      new Promise((_, reject) => ends.push(() => reject(new TransientFailure("no answer in time"))));
    const hanging = Array.from({ length: 10 }, (_, index) => ask(`eve-${index % 2}`, late));
    await ask("ada", answered);
    for (const end of ends) end();
    for (const one of await Promise.allSettled(hanging)) assert.equal(one.status, "rejected");
    assert.equal(await ask("eve-0", answered), "yes");
    assert.deepEqual(changes, []);
  });

  it("may all make the other side fail: it is there", async () => {
    for (let index = 0; index < 20; index++) {
      await assert.rejects(ask(`eve-${index}`, failsWith(new FailedAnswer("it answered 500"))), /it answered 500/);
    }
    assert.equal(await ask("ada", answered), "yes");
    assert.deepEqual(changes, []);
  });

  it("have 16 MiB of their answers kept, those that were used last", async () => {
    const asked: string[] = [];
    const of = async (key: string): Promise<string> =>
      questions.ask({ key, asker: () => sharePath(named("ada")) }, async () => (asked.push(key), "x".repeat(mebibyte)));
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    for (const key of keys) await of(key);
    for (const key of ["k19", "k5"]) await of(key);
    assert.deepEqual(asked, keys);
    // Each is a little more than its text, so there are 15 of them.
    for (const key of ["k4", "k5", "k6"]) await of(key);
    assert.deepEqual(asked.slice(20), ["k4", "k6"]);
  });

  it("keep in memory only what they keep of an answer", async () => {
    const long = (): string => JSON.parse(`"${"x".repeat(mebibyte)}${number}"`) as string; // a text of its own each time
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 50; index++) await ask("ada", async () => long().slice(0, 1000));
    collectGarbage();
    assert.ok(process.memoryUsage().heapUsed - before < 10 * mebibyte);
  });
});
