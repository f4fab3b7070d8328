import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CertificateManager } from "../../../src/agent/certificates/certificate-manager.ts";
import { hour, minute, SigningScene, started } from "./signing-scene.ts";

describe("a certificate manager whose certificate is refused or revoked", () => {
  it("replaces a refused certificate at once, and the next refused ones with growing delays", async (context) => {
    const scene = new SigningScene(context);
    await started(scene);
    scene.isRefused = true;
    await scene.time.advance(minute);
    assert.equal(scene.requests.size, 2);
    await scene.time.advance(hour);
    assert.ok(scene.requests.size < 20, `${scene.requests.size} requests in an hour`);
    scene.isRefused = false;
    await scene.time.advance(hour);
    const { size } = scene.requests;
    scene.isRefused = true;
    await scene.time.advance(minute);
    assert.equal(scene.requests.size, size + 1);
  });

  it("replaces a pair that is revoked, with a new key, and nothing when that pair is not in use any more", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const first = manager.current ?? assert.fail();
    manager.revoked(first);
    manager.revoked(first);
    await scene.time.advance(1000);
    assert.deepEqual([scene.requests.size, manager.status.state], [2, "current"]);
    assert.notEqual(manager.current?.keyPem, first.keyPem);
    manager.revoked(first);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 2);
    manager.revoked(manager.current ?? assert.fail());
    scene.behaviour = "denies";
    await scene.time.advance(hour);
    assert.equal(manager.status.state, "revoked");
    assert.ok(scene.requests.size < 20, `${scene.requests.size} requests in an hour`);
  });

  it("is not told to replace its pair by news about the pair before it", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const first = manager.current ?? assert.fail();
    await scene.time.advance(9 * hour);
    assert.equal(scene.requests.size, 2);
    manager.revoked(first);
    await scene.time.advance(hour);
    assert.equal(scene.requests.size, 2);
    assert.ok(!scene.log.some((line) => line.includes("is revoked")));
  });

  it("says once that its pair is revoked, however often it is told so while a request waits", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    scene.behaviour = "ignores";
    for (let told = 0; told < 3; told++) {
      manager.revoked(manager.current ?? assert.fail());
      await scene.time.advance(minute);
    }
    assert.equal(scene.log.filter((line) => line.startsWith("this certificate is revoked")).length, 1);
    assert.equal(scene.requests.size, 2);
  });

  const startedWhile = {
    revoked(scene: SigningScene): void {
      const manager = scene.start();
      manager.revoked(manager.current ?? assert.fail());
    },
    refused(scene: SigningScene): void {
      scene.isRefused = true;
      scene.start();
    },
  };

  for (const [how, start] of Object.entries(startedWhile)) {
    it(`gives up the key of a request that waits once its pair is ${how}, and keeps the next one also after a restart`, async (context) => {
      const scene = new SigningScene(context);
      const pair = (await started(scene)).current ?? assert.fail();
      scene.behaviour = "ignores";
      await scene.time.advance(9 * hour);
      const leaked = scene.store().pendingKey();
      let next: string | undefined;
      for (let starts = 0; starts < 3; starts++) {
        await scene.stop();
        start(scene);
        await scene.time.advance(1000);
        next ??= scene.store().pendingKey();
        assert.equal(scene.store().pendingKey(), next);
      }
      assert.notEqual(next, leaked);
      const [, old = "", last = ""] = scene.requests.keys();
      assert.equal(scene.requests.size, 3);
      scene.behaviour = "issues";
      scene.issue(old);
      await scene.time.advance(minute);
      assert.deepEqual(scene.store().read(), pair);
      scene.isRefused = false;
      scene.issue(last);
      await scene.time.advance(minute);
      assert.equal(scene.store().read()?.keyPem, next);
    });
  }

  it("uses no certificate for a key from before its pair was revoked, also when it comes at that moment", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const revoked = manager.current ?? assert.fail();
    scene.behaviour = "ignores";
    await scene.time.advance(9 * hour);
    const leaked = scene.store().pendingKey() ?? assert.fail();
    scene.behaviour = "issues";
    scene.issue([...scene.requests.keys()].at(-1) ?? "");
    scene.onAnswer = () => manager.revoked(revoked);
    await scene.time.advance(minute);
    assert.ok(manager.current !== revoked && manager.current?.keyPem !== leaked);
    assert.equal(manager.status.state, "current");
  });

  const withdraw = {
    revoked(_scene: SigningScene, manager: CertificateManager): void {
      manager.revoked(manager.current ?? assert.fail());
    },
    refused(scene: SigningScene, manager: CertificateManager): void {
      scene.isRefused = true;
      // The next certificate is refused only once it is used.
      scene.onAnswer = () => void (scene.isRefused = false);
      manager.check();
    },
  };

  for (const [how, end] of Object.entries(withdraw)) {
    it(`waits before it replaces one that is ${how} in its turn, although its request went well`, async (context) => {
      const scene = new SigningScene(context);
      const manager = await started(scene);
      end(scene, manager);
      await scene.time.advance(1000);
      assert.deepEqual([scene.requests.size, manager.status.state], [2, "current"]);
      end(scene, manager);
      await scene.time.advance(1000);
      assert.deepEqual([scene.requests.size, manager.status.state], [2, how]);
      await scene.time.advance(minute);
      assert.deepEqual([scene.requests.size, manager.status.state], [3, "current"]);
    });
  }
});
