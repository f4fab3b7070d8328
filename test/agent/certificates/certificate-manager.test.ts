import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { parseCertificateRequestPem } from "../../../src/pki/requests/certificate-request.ts";
import { keyTypeOf } from "../../../src/pki/keys/keys.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { hour, minute, serial, SigningScene, started, wanted } from "./signing-scene.ts";
import { takeTurnForEachLook } from "../../turns-during.ts";
import { settle } from "../virtual-time.ts";

describe("the certificate manager", () => {
  it("requests a missing certificate at once, and renews it at the renewal point with a new key", async (context) => {
    const scene = new SigningScene(context);
    const manager = scene.start();
    await settle();
    const [first, firstKey] = [serial(manager), manager.current?.keyPem];
    assert.notEqual(first, "none");
    assert.equal(scene.answers, 1, "a new key has no request to look for");
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
    assert.ok(scene.answers > 15 && scene.answers < 130, `${scene.answers} requests in a minute`);
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

  it("logs at a restart once who can help with a request that waits, and then every 15 minutes", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    await started(scene);
    await scene.stop();
    await scene.time.advance(3 * hour);
    await started(scene);
    const reminders = (): number => scene.log.filter((line) => line.includes("still waits")).length;
    await scene.time.advance(14 * minute);
    assert.equal(reminders(), 1);
    await scene.time.advance(2 * minute);
    assert.equal(reminders(), 2);
  });

  it("does not say that a request waits whose certificate was issued while the agent was stopped", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    await started(scene);
    await scene.stop();
    scene.behaviour = "issues";
    for (const name of scene.requests.keys()) scene.issue(name);
    assert.notEqual(serial(await started(scene)), "none");
    assert.ok(!scene.log.some((line) => line.includes("still waits")));
  });

  it("takes a saved certificate for what is wanted now when nobody knows what it was requested for", async (context) => {
    const scene = new SigningScene(context);
    const first = serial(await started(scene));
    await scene.stop();
    rmSync(join(scene.directory, "serving-wanted"));
    const manager = await started(scene);
    await scene.time.advance(hour);
    assert.deepEqual([serial(manager), manager.status.state], [first, "current"]);
    assert.equal(scene.requests.size, 1);
  });

  it("goes on with its request when it is told again what it knows", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = await started(scene);
    await scene.time.advance(10_000);
    const { answers } = scene;
    manager.specify({ names: platformNames, wanted: structuredClone(wanted) });
    await settle();
    assert.equal(scene.answers, answers);
  });

  it("makes another key when the one of a request that waits has not the type that is wanted now", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    await started(scene);
    await scene.stop();
    scene.start({ ...wanted, keyType: "ECDSA P-384" });
    await settle();
    const types = [...scene.requests.values()].map(({ spec }) =>
      keyTypeOf(parseCertificateRequestPem(Buffer.from(spec.request ?? "", "base64")).publicKey),
    );
    assert.deepEqual(types, ["ECDSA P-256", "ECDSA P-384"]);
  });

  it("counts no failure when a request ends because another one is wanted, or because the agent stops", async (context) => {
    const scene = new SigningScene(context);
    scene.behaviour = "ignores";
    const manager = await started(scene);
    manager.renewNow();
    await settle();
    assert.equal(scene.requests.size, 2);
    await scene.stop();
    assert.deepEqual([scene.failures, manager.status.failure], [0, undefined]);
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
});
