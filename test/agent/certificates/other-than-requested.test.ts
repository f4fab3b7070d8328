import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { hour, minute, serial, SigningScene, started, wanted } from "./signing-scene.ts";
import { settle } from "../virtual-time.ts";

describe("a certificate manager whose signer issues something else", () => {
  it("refuses a certificate for another key", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "issues for another key";
    const manager = await started(scene);
    assert.equal(serial(manager), "none");
    assert.deepEqual(readdirSync(scene.directory), []);
    assert.equal(scene.failures, 1);
  });

  it("uses a certificate that lacks names, and requests a better one with growing delays", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "issues without names";
    const manager = await started(scene);
    assert.notEqual(serial(manager), "none");
    await scene.time.advance(hour);
    assert.ok(scene.requests.size < 20, `${scene.requests.size} requests in an hour`);
    assert.ok(scene.requests.size > 3);
  });

  it("keeps a good certificate when the next one has expired or lacks names, and asks again with a new key", async (context) => {
    for (const spoil of [
      (scene: SigningScene) => (scene.behaviour = "issues without names"),
      (scene: SigningScene) => (scene.issuedFromMilliseconds = -20 * hour),
    ]) {
      const scene = new SigningScene(context);
      const manager = await started(scene);
      const good = serial(manager);
      spoil(scene);
      manager.renewNow();
      await settle();
      assert.equal(serial(manager), good);
      assert.equal(scene.failures, 1);
      assert.match(
        scene.log.at(-1) ?? "",
        /is (?:not as requested \(.+ names .+\)|already expired): the one in use stays/,
      );
      scene.behaviour = "issues";
      scene.issuedFromMilliseconds = 0;
      await scene.time.advance(minute);
      assert.notEqual(serial(manager), good);
      assert.equal(scene.requests.size, 3);
      await scene.stop();
    }
  });

  it("uses a certificate for fewer sides of TLS than asked for, and renews it in time", async (context) => {
    const scene = new SigningScene(context);
    const manager = scene.start({ ...wanted, usages: ["digital signature", "server auth", "client auth"] });
    await settle();
    const first = serial(manager);
    await scene.time.advance(8 * hour - 1);
    assert.equal(serial(manager), first);
    assert.equal(manager.status.state, "current");
    await scene.time.advance(1);
    assert.notEqual(serial(manager), first);
    assert.equal(scene.requests.size, 2);
    assert.equal(scene.failures, 0);
  });

  it("keeps a good certificate when the next one is not for a side of TLS that it is for, until it expires", async (context) => {
    for (const [behaviour, failure] of [
      ["issues for clients alone", /not for server auth: the one in use stays/],
      ["issues a CA", /not for server auth \(it is a CA\): the one in use stays/],
    ] as const) {
      const scene = new SigningScene(context);
      const manager = await started(scene);
      const good = serial(manager);
      scene.behaviour = behaviour;
      await scene.time.advance(8 * hour);
      assert.equal(serial(manager), good);
      assert.match(manager.status.failure ?? "", failure);
      await scene.time.advance(2 * hour - minute);
      assert.equal(serial(manager), good);
      assert.ok(scene.requests.size < 25, `${scene.requests.size} requests in two hours`);
      await scene.time.advance(11 * minute);
      assert.notEqual(serial(manager), good);
      await scene.stop();
    }
  });

  it("keeps a good certificate until the next one is valid, and then takes that one", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const good = serial(manager);
    scene.issuedFromMilliseconds = 10 * minute;
    manager.renewNow();
    await scene.time.advance(9 * minute);
    assert.equal(serial(manager), good);
    assert.match(manager.status.failure ?? "", /valid from 2026-01-01T00:10:00.000Z: until then, the one in use stays/);
    await scene.time.advance(2 * minute);
    assert.notEqual(serial(manager), good);
    assert.equal(scene.requests.size, 2);
  });

  it("replaces one that is not valid yet when the signer's clock was ahead and is right again", async (context) => {
    const scene = new SigningScene(context);
    scene.issuedFromMilliseconds = 9 * hour;
    const manager = await started(scene);
    const early = serial(manager);
    assert.equal(manager.status.state, "early");
    assert.ok(scene.log.includes("this certificate is not valid yet: is the clock right?"));
    scene.issuedFromMilliseconds = 0;
    await scene.time.advance(10_000);
    assert.notEqual(serial(manager), early);
    assert.equal(manager.status.state, "current");
    assert.equal(scene.requests.size, 2);
  });

  it("replaces one that is not valid yet by one that will be sooner, when the signer's clock is still ahead", async (context) => {
    const scene = new SigningScene(context);
    scene.issuedFromMilliseconds = 9 * hour;
    const manager = await started(scene);
    scene.issuedFromMilliseconds = hour;
    await scene.time.advance(hour);
    assert.equal(manager.status.state, "current");
  });

  it("keeps one that is not valid yet while others would begin later, and it is current when it begins", async (context) => {
    const scene = new SigningScene(context);
    scene.issuedFromMilliseconds = 20 * minute;
    const manager = await started(scene);
    const early = serial(manager);
    await scene.time.advance(14 * minute);
    assert.deepEqual([serial(manager), manager.status.state], [early, "early"]);
    await scene.time.advance(2 * minute);
    assert.deepEqual([serial(manager), manager.status.state], [early, "current"]);
    assert.equal(scene.requests.size, 2);
  });

  it("does not request endlessly when its clock takes new certificates for not yet valid or expired", async (context) => {
    for (const hours of [20, -20]) {
      const scene = new SigningScene(context);
      scene.issuedFromMilliseconds = hours * hour;
      const manager = await started(scene);
      assert.notEqual(serial(manager), "none");
      await scene.time.advance(hour);
      assert.ok(scene.requests.size < 20, `${scene.requests.size} requests in an hour`);
      assert.ok(scene.log.some((line) => /not valid yet|has expired/.test(line)));
      await scene.stop();
    }
  });
});
