import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hour, minute, serial, SigningScene, started } from "./signing-scene.ts";
import { settle } from "../virtual-time.ts";

describe("a certificate manager whose signer recalls certificates", () => {
  it("renews a recalled certificate once, in its turn, and at no later look at the same recall", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    await scene.time.advance(minute);
    const [first, recalled] = [serial(manager), scene.time.now()];
    manager.recall(recalled);
    await scene.time.advance(6 * minute - 1);
    assert.equal(serial(manager), first);
    const turn = manager.status.renewAt ?? assert.fail();
    await scene.time.advance(turn - scene.time.now() - 1);
    assert.equal(serial(manager), first);
    await scene.time.advance(1);
    assert.notEqual(serial(manager), first);
    assert.equal(manager.status.state, "current");
    for (const [hours, size] of [
      [0, 2],
      [-1, 2],
      [1, 3],
    ] as const) {
      manager.recall(recalled + hours * hour);
      await scene.time.advance(2 * hour);
      assert.equal(scene.requests.size, size);
    }
    manager.recall(0);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 3);
    assert.equal(scene.failures, 0);
  });

  it("says once that its certificate is recalled, and nothing when the recall is of older certificates alone", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    const recalls = (): number => scene.log.filter((line) => line.startsWith("the signer has recalled")).length;
    manager.recall(scene.time.now());
    assert.equal(recalls(), 0);
    for (let told = 0; told < 3; told++) manager.recall(scene.time.now() + 1000);
    assert.equal(recalls(), 1);
  });

  it("renews a certificate at its own time again once its recall was taken back", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    const { notAfter = 0, renewAt = 0 } = manager.status;
    assert.ok(renewAt > scene.time.now() && renewAt < notAfter, String(renewAt));
    manager.recall(scene.time.now() + minute);
    assert.ok((manager.status.renewAt ?? 0) < renewAt);
    manager.recall(0);
    assert.equal(manager.status.renewAt, renewAt);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 1);
  });

  it("renews a certificate at once whose turn is over when it learns of the recall", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    await scene.time.advance(2 * hour + 1000);
    manager.recall(scene.time.now() - hour);
    await settle();
    assert.deepEqual([scene.requests.size, manager.status.state], [2, "current"]);
  });

  it("renews a recalled certificate in its first turn, also when the recall is moved on again and again", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    const recalled = scene.time.now() + 1000;
    manager.recall(recalled);
    const turn = manager.status.renewAt ?? assert.fail();
    while (scene.time.now() < turn) {
      assert.equal(scene.requests.size, 1);
      manager.recall(scene.time.now() + 2000);
      await scene.time.advance(minute);
    }
    assert.equal(scene.requests.size, 2);
    assert.ok((manager.current?.certificate.notBefore ?? 0) <= turn);
  });

  it("renews a recalled certificate once also when its signer lets certificates begin long before their time", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    scene.issuedFromMilliseconds = -24 * hour;
    const manager = await started(scene);
    manager.recall(scene.time.now());
    await scene.time.advance(3 * hour);
    assert.equal(scene.requests.size, 2);
    // Another process does not know it, and asks once more.
    await scene.stop();
    const next = scene.start();
    next.recall(scene.time.now() - 3 * hour);
    await scene.time.advance(3 * hour);
    assert.equal(scene.requests.size, 3);
    assert.equal(next.status.state, "current");
  });

  it("does not renew again for a recall that it has answered, or an earlier one, after a renewal for another reason", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    scene.issuedFromMilliseconds = -24 * hour;
    const manager = await started(scene);
    const recalled = scene.time.now();
    manager.recall(recalled);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 2);
    manager.renewNow();
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 3);
    manager.recall(recalled - 1000);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 3);
    assert.equal(manager.status.state, "current");
  });

  it("asks again after a recall when a request from before it brings a certificate from before it", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    scene.behaviour = "ignores";
    await started(scene);
    await scene.stop();
    scene.behaviour = "issues";
    for (const name of scene.requests.keys()) scene.issue(name);
    await scene.time.advance(minute);
    const recalled = scene.time.now();
    await scene.time.advance(hour);
    const manager = scene.start();
    manager.recall(recalled);
    await scene.time.advance(minute);
    assert.equal(scene.requests.size, 2);
    assert.ok((manager.current?.certificate.notBefore ?? 0) > recalled);
    assert.equal(manager.status.failure, undefined);
  });

  it("does not take the certificate of a request from before a recall for an answer to it", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    scene.behaviour = "ignores";
    await scene.time.advance(80 * hour);
    scene.behaviour = "issues";
    scene.issue([...scene.requests.keys()].at(-1) ?? "");
    scene.behaviour = "is away";
    await scene.time.advance(minute);
    const recalled = scene.time.now();
    manager.recall(recalled);
    await scene.time.advance(hour);
    assert.deepEqual([scene.requests.size, manager.status.state], [2, "recalled"]);
    scene.behaviour = "issues";
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 3);
    assert.ok((manager.current?.certificate.notBefore ?? 0) > recalled);
  });

  it("keeps a recalled certificate while there is no better one", async (context) => {
    const scene = new SigningScene(context);
    scene.lifetimeMilliseconds = 100 * hour;
    const manager = await started(scene);
    const first = serial(manager);
    manager.recall(scene.time.now() + 1000);
    scene.behaviour = "issues for clients alone";
    await scene.time.advance(hour);
    assert.deepEqual([serial(manager), manager.status.state], [first, "recalled"]);
    scene.behaviour = "issues";
    await scene.time.advance(hour);
    assert.equal(manager.status.state, "current");
  });
});
