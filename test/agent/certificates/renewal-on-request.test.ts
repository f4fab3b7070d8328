import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { hour, minute, serial, SigningScene, started, wanted } from "./signing-scene.ts";
import { settle } from "../virtual-time.ts";

describe("a certificate manager that is told to renew", () => {
  it("requests another certificate when its names change, and at once on command", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    manager.renewNow();
    await settle();
    assert.equal(scene.requests.size, 2);
    await scene.stop();
    scene.behaviour = "ignores";
    scene.start({ ...wanted, subjectAltNames: { ...wanted.subjectAltNames, dnsNames: ["n1", "n1.example"] } });
    await settle();
    assert.equal(scene.requests.size, 3);
  });

  it("is renewed ever less often by a hook that asks for its renewal each time, and at once again for another reason", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const renewInLoop = async (milliseconds: number): Promise<number> => {
      const before = scene.requests.size;
      for (const end = scene.time.now() + milliseconds; scene.time.now() < end;) {
        manager.renewNow();
        await scene.time.advance(1000);
      }
      return scene.requests.size - before;
    };
    assert.equal(await renewInLoop(2000), 1);
    assert.match(
      scene.log.at(-1) ?? "",
      /^this certificate was renewed on request just now, .*: does its own hook ask/,
    );
    assert.ok((manager.status.renewalWaitMilliseconds ?? 0) > 0);
    const inHours = [await renewInLoop(hour), await renewInLoop(hour)];
    assert.ok(
      inHours.every((count) => count > 4 && count <= 16),
      String(inHours),
    );
    const count = scene.requests.size;
    manager.recall(scene.time.now() + 1);
    await scene.time.advance(hour);
    assert.ok(scene.requests.size > count);
    const renewed = scene.requests.size;
    manager.renewNow();
    await settle();
    assert.equal(scene.requests.size, renewed + 1);
  });

  it("does not wait after renewals on request when it is revoked, lacks a name or is due", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const renewInLoop = async (milliseconds: number): Promise<void> => {
      for (const end = scene.time.now() + milliseconds; scene.time.now() < end;) {
        manager.renewNow();
        await scene.time.advance(2000);
        assert.notEqual(manager.status.state, "expired");
      }
    };
    const isReplacedAfter = async (change: () => void): Promise<void> => {
      const before = scene.requests.size;
      change();
      assert.equal(manager.status.renewalWaitMilliseconds, undefined);
      await scene.time.advance(1000);
      assert.equal(scene.requests.size, before + 1);
    };
    await renewInLoop(10 * minute);
    await isReplacedAfter(() => manager.revoked(manager.current ?? assert.fail()));
    await renewInLoop(10 * minute);
    const dnsNames = ["n1", "n1.example"];
    const subjectAltNames = { ...wanted.subjectAltNames, dnsNames };
    await isReplacedAfter(() => manager.specify({ names: platformNames, wanted: { ...wanted, subjectAltNames } }));
    scene.lifetimeMilliseconds = 2 * minute;
    await renewInLoop(10 * minute);
  });

  it("gives up the key of a request that waits when it is told to renew: that key may have leaked too", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = await started(scene);
    const [first = ""] = scene.requests.keys();
    const leaked = scene.store().pendingKey() ?? assert.fail();
    manager.renewNow();
    await settle();
    const [, second = ""] = scene.requests.keys();
    assert.notEqual(scene.store().pendingKey(), leaked);
    // The new key is on disk: after a restart the agent continues with it.
    assert.equal(manager.status.isRenewalRequested, false);
    scene.behaviour = "issues";
    scene.issue(first);
    await scene.time.advance(minute);
    assert.equal(serial(manager), "none");
    scene.issue(second);
    await scene.time.advance(minute);
    assert.ok(manager.current !== undefined && manager.current.keyPem !== leaked);
    assert.equal(scene.requests.size, 2);
  });

  it("uses no key that it had before it was told to renew, also when its certificate comes at that moment", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = await started(scene);
    const leaked = scene.store().pendingKey() ?? assert.fail();
    const [first = ""] = scene.requests.keys();
    scene.behaviour = "issues";
    scene.issue(first);
    scene.onAnswer = () => manager.renewNow();
    await scene.time.advance(minute);
    assert.ok(manager.current !== undefined && manager.current.keyPem !== leaked);
    assert.equal(scene.store().pendingKey(), undefined);
    assert.equal(manager.status.isRenewalRequested, false);
  });

  it("still renews what it was told to after a kill that came before it could begin", async (context) => {
    const scene = new SigningScene(context);
    const leaked = (await started(scene)).current?.keyPem;
    for (const behaviour of ["issues", "ignores"] as const) {
      scene.behaviour = behaviour;
      await scene.stop();
      const manager = scene.start();
      manager.renewNow();
      await scene.stop();
      assert.equal(scene.store().pendingKey(), "");
      await started(scene);
      assert.equal(scene.requests.size, behaviour === "issues" ? 2 : 3);
    }
    assert.notEqual(scene.store().read()?.keyPem, leaked);
    assert.notEqual(scene.store().pendingKey(), "");
  });
});
