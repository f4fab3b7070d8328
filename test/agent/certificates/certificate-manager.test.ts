import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { parseCertificateRequestPem } from "../../../src/pki/requests/certificate-request.ts";
import { keyTypeOf } from "../../../src/pki/keys/keys.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import type { CertificateManager } from "../../../src/agent/certificates/certificate-manager.ts";
import { hour, SigningScene, wanted } from "./signing-scene.ts";
import { takeTurnForEachLook } from "../../turns-during.ts";
import { settle } from "../virtual-time.ts";

const serial = ({ current }: CertificateManager): string =>
  current === undefined ? "none" : serialNumberHex(current.certificate);
const minute = 60_000;

describe("the certificate manager", () => {
  it("requests a missing certificate at once, and renews it at the renewal point with a new key", async (context) => {
    const scene = new SigningScene(context);
    const manager = scene.start();
    await settle();
    const [first, firstKey] = [serial(manager), manager.current?.keyPem];
    assert.notEqual(first, "none");
    // The dice say 0.5: 80 % of ten hours.
    await scene.time.advance(8 * hour - 1);
    assert.equal(serial(manager), first);
    await scene.time.advance(1);
    assert.notEqual(serial(manager), first);
    assert.notEqual(manager.current?.keyPem, firstKey);
    assert.equal(scene.requests.size, 2);
    assert.equal(scene.failures, 0);
  });

  it("lets everything else continue while its RSA key is made", async (context) => {
    const scene = new SigningScene(context);
    scene.start({ ...wanted, keyType: "RSA 4096" });
    await turn();
    assert.equal(scene.answers, 0);
    while (scene.requests.size === 0) await turn();
    const [request] = scene.requests.values();
    const { publicKey } = parseCertificateRequestPem(Buffer.from(request?.spec.request ?? "", "base64"));
    assert.equal(keyTypeOf(publicKey), "RSA 4096");
  });

  it("takes a turn of its own to write a certificate when the answers for several come at once", async (context) => {
    const scenes = Array.from({ length: 5 }, () => new SigningScene(context));
    for (const scene of scenes) {
      scene.behaviour = "ignores";
      scene.start();
    }
    await settle();
    takeTurnForEachLook(context);
    for (const scene of scenes) {
      scene.behaviour = "issues";
      for (const name of scene.requests.keys()) scene.issue(name);
    }
    const written = (): number => scenes.filter((scene) => existsSync(scene.store().file)).length;
    const advanced = Promise.all(scenes.map((scene) => scene.time.advance(2000)));
    const counts = [written()];
    while (counts.at(-1) !== scenes.length) {
      await turn();
      counts.push(written());
    }
    await advanced;
    const together = counts.slice(1).map((count, index) => count - (counts[index] ?? 0));
    assert.equal(Math.max(...together), 1, `written in each turn: ${together.join(", ")}`);
  });

  it("reads its certificate again after a restart", async (context) => {
    const scene = new SigningScene(context);
    const before = serial(await started(scene));
    await scene.stop();
    assert.equal(serial(await started(scene)), before);
    assert.equal(scene.requests.size, 1);
  });

  it("requests again with a new key after a denial or a failure, with growing delays", async (context) => {
    for (const behaviour of ["denies", "fails"] as const) {
      const scene = new SigningScene(context);
      scene.behaviour = behaviour;
      const manager = await started(scene);
      assert.equal(scene.requests.size, 1);
      await scene.time.advance(7499);
      assert.equal(scene.requests.size, 1);
      await scene.time.advance(1);
      assert.equal(scene.requests.size, 2);
      await scene.time.advance(15_000);
      assert.equal(scene.requests.size, 3);
      const keys = [...scene.requests.values()].map(({ spec }) => spec.request);
      assert.equal(new Set(keys).size, 3);
      scene.behaviour = "issues";
      await scene.time.advance(30_000);
      assert.notEqual(serial(manager), "none");
      await scene.stop();
    }
  });

  it("asks again soon after its first denial, however long the server was away before", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "is away";
    await started(scene);
    await scene.time.advance(5 * minute);
    scene.behaviour = "denies";
    await scene.time.advance(minute);
    assert.ok(scene.requests.size > 1, `${scene.requests.size} request`);
  });

  it("does not say that an issued certificate which cannot be written still waits", async (context) => {
    const scene = new SigningScene(context);
    mkdirSync(scene.store().file);
    const { status } = await started(scene);
    assert.match(status.failure ?? "", /cannot write .*serving-current\.pem/);
    assert.equal(status.pendingRequest, undefined);
  });

  it("logs one line for each denial after the first, which names the request", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "denies";
    await started(scene);
    await scene.time.advance(hour);
    const lines = scene.log.filter((line) => !line.startsWith("no new certificate: request "));
    assert.deepEqual(lines, ["requested a certificate"]);
    assert.equal(scene.log.length, 1 + scene.requests.size);
    scene.behaviour = "issues";
    await scene.time.advance(20 * hour);
    assert.equal(scene.log.filter((line) => line === "requested a certificate").length, 3);
  });

  it("waits with the same key for a decision, and logs every 15 minutes who can help", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = await started(scene);
    const key = scene.store().pendingKey() ?? assert.fail();
    await scene.time.advance(46 * minute);
    assert.equal(scene.requests.size, 1);
    assert.equal(scene.failures, 0);
    const reminders = scene.log.filter((line) => line.includes("still waits"));
    assert.equal(reminders.length, 3);
    const [name = ""] = [...scene.requests.keys()];
    assert.ok(reminders[0]?.endsWith(`signet csr approve ${name}`));
    // The server deletes requests that are not decided within a day.
    scene.requests.clear();
    await scene.time.advance(5 * minute);
    assert.ok(scene.requests.has(name));
    assert.equal(scene.store().pendingKey(), key);
    assert.equal(manager.status.failure, `request ${name}: it was deleted before a certificate was issued`);
  });

  it("does not take a certificate before its request is approved, as no kubelet does", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "issues without approval";
    const manager = await started(scene);
    assert.equal(manager.current, undefined);
    const [name = ""] = [...scene.requests.keys()];
    assert.equal(manager.status.pendingRequest, name);
    scene.behaviour = "issues";
    scene.issue(name);
    await scene.time.advance(2 * minute);
    assert.equal(manager.status.state, "current");
  });

  it("pauses between looks at a request that the server says is deleted, and still shows", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "says of a pending request that it is deleted";
    await started(scene);
    await scene.time.advance(minute);
    assert.ok(scene.answers < 130, `${scene.answers} requests in a minute`);
    assert.equal(scene.requests.size, 1);
  });

  it("asks less and less often for a request whose watch ends at once, but every ten seconds at least", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ends each watch at once";
    const manager = await started(scene);
    await scene.time.advance(minute);
    const before = scene.answers;
    await scene.time.advance(10 * minute);
    assert.equal(scene.answers - before, 2 * 60);
    scene.behaviour = "issues";
    const [name = ""] = scene.requests.keys();
    scene.issue(name);
    await scene.time.advance(10_000);
    assert.notEqual(serial(manager), "none");
  });

  it("learns nothing about its request from what a watch says of another one", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "shows that another request is denied, and then deleted";
    const manager = await started(scene);
    const key = scene.store().pendingKey();
    await scene.time.advance(minute);
    assert.deepEqual([scene.failures, scene.requests.size, scene.store().pendingKey()], [0, 1, key]);
    scene.behaviour = "issues";
    const [name = ""] = scene.requests.keys();
    scene.issue(name);
    await scene.time.advance(minute);
    assert.notEqual(serial(manager), "none");
  });

  it("still waits for the same request after a restart", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    await started(scene);
    await scene.stop();
    const manager = await started(scene);
    assert.equal(scene.requests.size, 1);
    assert.equal(serial(manager), "none");
    const [name = "", request] = [...scene.requests][0] ?? [];
    assert.ok(request);
    scene.behaviour = "issues";
    scene.issue(name);
    await scene.time.advance(minute);
    assert.notEqual(serial(manager), "none");
    assert.equal(scene.store().pendingKey(), undefined);
    assert.equal(scene.requests.size, 1);
  });

  it("does not mistake the key in use for the pending one after a kill during a renewal", async (context) => {
    const scene = new SigningScene(context);
    const { keyPem = "" } = (await started(scene)).current ?? {};
    await scene.stop();
    scene.store().keepPendingKey(keyPem);
    // The server deletes requests that are done: it no longer shows that this key has its certificate.
    scene.requests.clear();
    const manager = await started(scene);
    await scene.time.advance(8 * hour);
    assert.equal(scene.requests.size, 1);
    assert.notEqual(manager.current?.keyPem, keyPem);
  });

  it("writes its certificate again when somebody has removed the folder, and leaves one that is there alone", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    rmSync(scene.directory, { recursive: true });
    manager.restore();
    const restored = scene.store().read();
    assert.equal(restored?.keyPem, manager.current?.keyPem);
    assert.ok(scene.store().wantedDigest !== undefined);
    assert.match(scene.log.at(-1) ?? "", /^somebody has removed the saved certificate/);
    const lines = scene.log.length;
    manager.restore();
    assert.equal(scene.log.length, lines);
  });

  it("keeps the key of a pending request when it writes its certificate again", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    scene.behaviour = "ignores";
    manager.renewNow();
    await settle();
    const key = scene.store().pendingKey();
    rmSync(scene.store().file);
    manager.restore();
    assert.ok(key !== undefined);
    assert.equal(scene.store().pendingKey(), key);
  });

  it("still wants another certificate when it writes again the one that was requested for something else", async (context) => {
    const scene = new SigningScene(context);
    await started(scene);
    await scene.stop();
    scene.behaviour = "ignores";
    const changed = { ...wanted, signerName: "example.com/other" };
    const manager = scene.start(changed);
    await settle();
    rmSync(scene.directory, { recursive: true });
    assert.equal(manager.status.state, "outdated");
    manager.restore();
    assert.equal(manager.status.state, "outdated");
    await scene.stop();
    assert.equal(scene.start(changed).status.state, "outdated");
  });

  it("renews its certificate although somebody has removed the folder", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    rmSync(scene.directory, { recursive: true });
    manager.renewNow();
    await settle();
    assert.equal(scene.failures, 0);
    assert.equal(scene.store().read()?.keyPem, manager.current?.keyPem);
  });

  it("says why it cannot be renewed when its folder cannot be written, and is renewed once it can", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const first = serial(manager);
    const pending = join(scene.directory, "serving-pending.key");
    mkdirSync(pending);
    manager.renewNow();
    await settle();
    assert.equal(serial(manager), first);
    assert.notEqual(manager.status.failure, undefined);
    rmdirSync(pending);
    await scene.time.advance(hour);
    assert.notEqual(serial(manager), first);
  });

  it("continues with its key when a server that was away is back", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "is away";
    const manager = await started(scene);
    const key = scene.store().pendingKey();
    await scene.time.advance(10 * minute);
    assert.ok(scene.failures > 15 && scene.failures < 60, `${scene.failures} tries in ten minutes`);
    scene.behaviour = "issues";
    await scene.time.advance(minute);
    assert.equal(manager.current?.keyPem, key);
  });

  it("says of an answer that it is not what the API says, and asks again with the same key", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "answers without a status";
    const manager = await started(scene);
    assert.match(manager.status.failure ?? "", /^an answer is not what the API says/);
    const key = scene.store().pendingKey();
    scene.behaviour = "issues";
    await scene.time.advance(minute);
    assert.equal(manager.current?.keyPem, key);
  });

  it("pauses as long as the server asks for, but ten minutes at most, and as after any failure at least", async (context) => {
    for (const [asksForSeconds, tries] of [
      [60, 31],
      [10 ** 10, 4],
      ["soon", 85],
      [-5, 85],
    ] as const) {
      const scene = new SigningScene(context);
      scene.behaviour = { asksForSeconds };
      await started(scene);
      await scene.time.advance(30 * minute);
      assert.equal(scene.refusals, tries, `in half an hour, when it asks for ${asksForSeconds} s`);
      scene.behaviour = "issues";
      await scene.time.advance(10 * minute);
      assert.equal(scene.requests.size, 1);
      await scene.stop();
    }
  });

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
    scene.issuedFromMilliseconds = 0;
    await scene.time.advance(10_000);
    assert.notEqual(serial(manager), early);
    assert.equal(manager.status.state, "current");
    assert.equal(scene.requests.size, 2);
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

  it("waits before it replaces one that is refused in its turn, although its request went well", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const refuse = (): void => {
      scene.isRefused = true;
      // The next certificate is refused only once it is used.
      scene.onAnswer = () => void (scene.isRefused = false);
      manager.check();
    };
    refuse();
    await scene.time.advance(1000);
    assert.deepEqual([scene.requests.size, manager.status.state], [2, "current"]);
    refuse();
    await scene.time.advance(1000);
    assert.deepEqual([scene.requests.size, manager.status.state], [2, "refused"]);
    await scene.time.advance(minute);
    assert.deepEqual([scene.requests.size, manager.status.state], [3, "current"]);
  });

  it("tries again as soon after a failure as if there had never been an outage, once that is over", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    const failuresOf = async (milliseconds: number): Promise<number> => {
      const before = scene.failures;
      scene.behaviour = "is away";
      manager.renewNow();
      await scene.time.advance(milliseconds);
      return scene.failures - before;
    };
    const first = await failuresOf(10_000);
    await failuresOf(5 * minute);
    scene.behaviour = "issues";
    await scene.time.advance(5 * minute);
    assert.equal(manager.status.failure, undefined);
    assert.equal(await failuresOf(10_000), first);
  });

  it("shows no failure once its certificate is right again without a new one", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    scene.behaviour = "denies";
    const subjectAltNames = { ...wanted.subjectAltNames, dnsNames: ["n1", "n1.example"] };
    manager.specify({ names: platformNames, wanted: { ...wanted, subjectAltNames } });
    await settle();
    assert.match(manager.status.failure ?? "", /Denied/);
    manager.specify({ names: platformNames, wanted });
    await settle();
    assert.deepEqual([manager.status.state, manager.status.failure], ["current", undefined]);
  });

  it("shows the request that waits during an outage too, and none once it was denied", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = scene.start();
    await scene.time.advance(minute);
    const waiting = manager.status.pendingRequest;
    assert.ok(waiting !== undefined && scene.requests.has(waiting));
    scene.behaviour = "is away";
    await scene.time.advance(5 * minute);
    assert.ok(manager.status.failure !== undefined);
    assert.equal(manager.status.pendingRequest, waiting);
    scene.behaviour = "denies";
    scene.issue(waiting);
    await scene.time.advance(minute);
    assert.equal(manager.status.pendingRequest, undefined);
  });

  it("looks at its state when it is told to, and continues with a request that waits", async (context) => {
    const scene = new SigningScene(context);
    const manager = await started(scene);
    scene.isRefused = true;
    scene.behaviour = "ignores";
    manager.check();
    await scene.time.advance(1000);
    assert.equal(scene.requests.size, 2);
    const { answers } = scene;
    manager.check();
    await scene.time.advance(0);
    assert.equal(scene.answers, answers);
  });

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

async function started(scene: SigningScene): Promise<CertificateManager> {
  const manager = scene.start();
  await settle();
  return manager;
}
