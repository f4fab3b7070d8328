import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { loggedError } from "../../../../../src/machinery/logging/logged-error.ts";
import { gcm } from "../../../../../src/machinery/storage/encryption/aes-gcm.ts";
import { kmsClient } from "../../../../../src/machinery/storage/encryption/kms/kms-client.ts";
import type { KmsClient } from "../../../../../src/machinery/storage/encryption/kms/kms-client.ts";
import { KmsTransformer } from "../../../../../src/machinery/storage/encryption/kms/kms-transformer.ts";
import { GrpcError, grpcStatus } from "../../../../../src/machinery/grpc/grpc-error.ts";
import { encodeEncryptedObject, keySource } from "../../../../../src/machinery/storage/encryption/kms/kms-messages.ts";
import type { EncryptedObject } from "../../../../../src/machinery/storage/encryption/kms/kms-messages.ts";
import { KmsUnavailable } from "../../../../../src/machinery/storage/encryption/value-transformer.ts";
import type { KmsEvent } from "../../../../../src/machinery/storage/encryption/kms/kms-transformer.ts";
import { socketFolder } from "../../../../socket-folder.ts";
import { KmsPlugin } from "./kms-plugin.ts";

const folder = socketFolder();
const plugin = new KmsPlugin(join(folder, "kms.sock"));
const storageKey = "/registry/secrets/default/web";
const plain = Buffer.from('{"data":{"password":"c2VjcmV0"}}');

interface Scene {
  readonly transformer: KmsTransformer;
  readonly events: KmsEvent[];
  readonly time: { now: number };
  readable: number;
  decrypt(stored: Buffer): Promise<{ readonly plain: Buffer; readonly isStale: boolean }>;
}

const scenes: Scene[] = [];

/** Another process that uses the same plugin. Only a plugin that is silent is worth a short wait. */
function process({ timeoutMilliseconds = 60_000 } = {}): Scene {
  const time = { now: 1_000_000 };
  const events: KmsEvent[] = [];
  const transformer = new KmsTransformer({
    name: "vault",
    client: kmsClient({ endpoint: plugin.endpoint, timeoutMilliseconds }),
    clock: { now: () => time.now },
    onReadable: () => (scene.readable += 1),
    onEvent: (event) => events.push(event),
  });
  const scene: Scene = {
    transformer,
    events,
    time,
    readable: 0,
    decrypt: async (stored) => transformer.decrypt(stored, storageKey),
  };
  scenes.push(scene);
  return scene;
}

/** The plugin works again: at its next look, the process says so once, and reads the value. */
async function assertReadAgain(scene: Scene, stored: Buffer): Promise<void> {
  plugin.behaviour = "works";
  scene.time.now += minutes(1);
  await scene.transformer.pollWhenDue();
  assert.equal(scene.readable, 1);
  assert.deepEqual((await scene.decrypt(stored)).plain, plain);
}

/** With a plugin that is no process. */
const transformerOf = (client: KmsClient): KmsTransformer =>
  new KmsTransformer({ name: "vault", client, clock: { now: () => 0 }, onReadable: () => {}, onEvent: () => {} });

const minutes = (count: number): number => count * 60_000;

describe("a KMS v2 provider", () => {
  before(() => plugin.start());
  beforeEach(() => {
    plugin.behaviour = "works";
    plugin.silentKeyId = undefined;
  });
  after(() => {
    for (const { transformer } of scenes) transformer.close();
    plugin.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("wraps one seed for many values, which another process reads with one call", async () => {
    const writer = process();
    const callsBefore = { ...plugin.calls };
    const stored = await Promise.all(Array.from({ length: 50 }, () => writer.transformer.encrypt(plain, storageKey)));
    assert.equal(plugin.calls.Encrypt - callsBefore.Encrypt, 1);
    assert.match(stored[0]?.toString("latin1") ?? "", /^k8s:enc:kms:v2:vault:/);
    const reader = process();
    await reader.transformer.pollWhenDue();
    const { Decrypt: decryptedBefore } = plugin.calls;
    for (const value of await Promise.all(stored.map((one) => reader.decrypt(one)))) {
      assert.deepEqual(value, { plain, isStale: false });
    }
    assert.equal(plugin.calls.Decrypt - decryptedBefore, 1);
    await assert.rejects(
      async () => reader.transformer.decrypt(stored[0] ?? assert.fail(), "/registry/secrets/default/other"),
      /moved/,
    );
  });

  it("makes a new seed when the KMS has a new key, and says that older values are stale", async () => {
    const scene = process();
    const old = await scene.transformer.encrypt(plain, storageKey);
    plugin.keyId = "key-2";
    scene.time.now += minutes(1);
    await scene.transformer.pollWhenDue();
    assert.deepEqual(await scene.decrypt(old), { plain, isStale: true });
    assert.deepEqual(await scene.decrypt(await scene.transformer.encrypt(plain, storageKey)), {
      plain,
      isStale: false,
    });
    assert.deepEqual(scene.events, [
      { type: "key", keyId: "key-1" },
      { type: "key", keyId: "key-2" },
    ]);
  });

  it("makes at most one seed in a minute, however often the KMS has a new key", async () => {
    const scene = process();
    const checks = async (): Promise<void> => {
      for (let seconds = 0; seconds < 120; seconds++) {
        plugin.keyId = `changing-${seconds}`;
        await scene.transformer.check();
        scene.time.now += 1000;
      }
    };
    await checks();
    assert.deepEqual(scene.events, [
      { type: "key", keyId: "changing-0" },
      { type: "key", keyId: "changing-60" },
    ]);
    assert.equal((await scene.decrypt(await scene.transformer.encrypt(plain, storageKey))).isStale, false);
  });

  it("says that older values are stale with its first look at the plugin, and where it can't look", async () => {
    const old = await process().transformer.encrypt(plain, storageKey);
    plugin.keyId = "key-3";
    const started = process();
    assert.deepEqual(await started.decrypt(old), { plain, isStale: true });
    plugin.behaviour = "unhealthy";
    const unsure = process();
    await unsure.transformer.pollWhenDue();
    assert.deepEqual(await unsure.decrypt(old), { plain, isStale: true });
  });

  it("reads with cached keys while the plugin is away, and writes for three more minutes", async () => {
    const scene = process();
    const stored = await scene.transformer.encrypt(plain, storageKey);
    plugin.stop();
    scene.time.now += 2000;
    await assert.rejects(
      scene.transformer.check(),
      (error: Error) =>
        /the KMS plugin vault does not work now/.test(error.message) && !("stack" in loggedError(error)),
    );
    assert.equal((await scene.decrypt(stored)).plain.toString(), plain.toString());
    await scene.transformer.encrypt(plain, storageKey);
    scene.time.now += minutes(3);
    await assert.rejects(
      scene.transformer.encrypt(plain, storageKey),
      /the KMS plugin vault does not work now: .*can't be reached/,
    );
    await plugin.start();
    scene.time.now += 2000;
    await scene.transformer.encrypt(plain, storageKey);
    await scene.transformer.check();
    assert.deepEqual(
      scene.events.map(({ type }) => type),
      ["key", "failed", "works again"],
    );
  });

  it("writes no more with a key that the plugin has lost, although its status is good, until it is there again", async () => {
    const scene = process();
    const stored = await scene.transformer.encrypt(plain, storageKey);
    plugin.behaviour = "refuses to decrypt";
    scene.time.now += minutes(1);
    await assert.rejects(
      scene.transformer.check(),
      /does not decrypt the key that this process writes with: .*not yours/,
    );
    assert.deepEqual((await scene.decrypt(stored)).plain, plain);
    scene.time.now += minutes(2);
    await assert.rejects(scene.transformer.encrypt(plain, storageKey), /not yours/);
    plugin.behaviour = "gives one wrong key";
    scene.time.now += 2000;
    await assert.rejects(scene.transformer.check(), /does not decrypt the key that this process writes with/);
    plugin.behaviour = "works";
    scene.time.now += 2000;
    await scene.transformer.encrypt(plain, storageKey);
    assert.deepEqual(
      scene.events.map(({ type }) => type),
      ["key", "failed", "works again"],
    );
  });

  for (const [behaviour, reason] of [
    ["fails", /the HSM is on fire/],
    ["silent", /did not answer/],
    ["wrong", /its key has no id/],
    ["unhealthy", /says of its health "no quorum"/],
    ["mixes up its answers", /does not decrypt what it has just encrypted/],
    ["refuses to decrypt", /not yours/],
  ] as const) {
    it(`fails writes and its check while what the plugin does is "${behaviour}", and works when that is over`, async () => {
      const scene = process(behaviour === "silent" ? { timeoutMilliseconds: 1_500 } : {});
      plugin.behaviour = behaviour;
      await assert.rejects(scene.transformer.encrypt(plain, storageKey), reason);
      await assert.rejects(scene.transformer.check(), reason);
      plugin.behaviour = "works";
      scene.time.now += 2000;
      await scene.transformer.encrypt(plain, storageKey);
    });
  }

  const good = { version: "v2", health: "ok", keyId: "key-1" };
  const wrapped = { ciphertext: Buffer.of(1), keyId: "key-1", annotations: new Map<string, Buffer>() };
  const annotated = (name: string, bytes = 1) => ({ annotations: new Map([[name, Buffer.alloc(bytes)]]) });
  for (const [what, status, answer, reason] of [
    ["of another version", { version: "v1" }, {}, /it has version "v1", not v2/],
    ["whose key has an endless id", { keyId: "k".repeat(1025) }, {}, /the id of its key has 1025 bytes/],
    ["that encrypts with another key than it names", {}, { keyId: "key-2" }, /it has just changed its key/],
    ["that encrypts with a key without an id", {}, { keyId: "" }, /its key has no id/],
    ["that encrypts a key to nothing", {}, { ciphertext: Buffer.alloc(0) }, /it encrypted a key to 0 bytes/],
    ["that encrypts a key to very much", {}, { ciphertext: Buffer.alloc(1025) }, /it encrypted a key to 1025 bytes/],
    ["that annotates with a name of no domain", {}, annotated("name"), /not a fully qualified domain name/],
    ["that annotates with an invalid name", {}, annotated("Not.A.Domain"), /not a fully qualified domain name/],
    ["that annotates with very much", {}, annotated("a.example", 32 * 1024), /its annotations have 32777 bytes/],
  ] as const) {
    it(`writes nothing with a plugin ${what}`, async () => {
      const transformer = transformerOf({
        status: () => Promise.resolve({ ...good, ...status }),
        encrypt: () => Promise.resolve({ ...wrapped, ...answer }),
        decrypt: () => Promise.reject(new Error("nothing was encrypted")),
        close: () => {},
      });
      await assert.rejects(async () => transformer.encrypt(plain, storageKey), reason);
    });
  }

  for (const [where, answerTo] of [
    ["as what it has encrypted", (seed: Buffer) => ({ ciphertext: seed })],
    ["beside what it has encrypted", (seed: Buffer) => ({ annotations: new Map([["a.example", seed]]) })],
  ] as const) {
    it(`writes nothing with a plugin that returns the key ${where}`, async () => {
      let sent = Buffer.alloc(0);
      const transformer = transformerOf({
        status: () => Promise.resolve(good),
        encrypt(seed) {
          sent = Buffer.from(seed);
          return Promise.resolve({ ...wrapped, ...answerTo(seed) });
        },
        decrypt: () => Promise.resolve(sent),
        close: () => {},
      });
      await assert.rejects(async () => transformer.encrypt(plain, storageKey), /it does not encrypt/);
    });
  }

  const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes).reverse();
  /** What it has "encrypted" is the seed, from its end to its beginning. */
  const openPlugin = (version: string, unwrap = (seed: Buffer): Buffer => seed): KmsTransformer =>
    transformerOf({
      status: () => Promise.resolve({ ...good, version }),
      encrypt: (seed) => Promise.resolve({ ...wrapped, ciphertext: reversed(seed) }),
      decrypt: ({ ciphertext }) => Promise.resolve(unwrap(reversed(ciphertext))),
      close: () => {},
    });

  it("may still have version v2beta1, as upstream", async () => {
    const transformer = openPlugin("v2beta1");
    const stored = await transformer.encrypt(plain, storageKey);
    assert.deepEqual(await transformer.decrypt(stored, storageKey), { plain, isStale: false });
  });

  it("that unwraps a seed to fewer than 32 bytes has given no key, which may still come", async () => {
    const stored = await openPlugin("v2").encrypt(plain, storageKey);
    const reader = openPlugin("v2", (seed) => seed.subarray(1));
    await assert.rejects(
      async () => reader.decrypt(stored, storageKey),
      (error) =>
        error instanceof KmsUnavailable && /decrypted its key to something that is not a key/.test(error.message),
    );
  });

  it("reads a value of an older kube-apiserver, which used the key itself, and calls it stale, as upstream", async () => {
    const key = Buffer.alloc(32, 7);
    const encryptedData = Buffer.concat(gcm(key).seal(plain, storageKey));
    const wrappedKey = { ...wrapped, ciphertext: key };
    const object = encodeEncryptedObject({ encryptedData, wrappedKey, keySource: keySource.aesGcmKey });
    const stored = Buffer.concat([Buffer.from("k8s:enc:kms:v2:vault:"), object]);
    assert.deepEqual(await openPlugin("v2").decrypt(stored, storageKey), { plain, isStale: true });
  });

  for (const [what, code, calls] of [
    ["is not asked for another key in the second after it was away", grpcStatus.unavailable, 1],
    ["is asked for another key at once after it failed at one", grpcStatus.internal, 2],
  ] as const) {
    it(what, async () => {
      const stored = [
        await openPlugin("v2").encrypt(plain, storageKey),
        await openPlugin("v2").encrypt(plain, storageKey),
      ];
      let asked = 0;
      const reader = openPlugin("v2", () => {
        asked += 1;
        throw new GrpcError("not now", { code, mayHaveRun: true });
      });
      await assert.rejects(reader.check(), /not now/);
      asked = 0;
      for (const value of stored) await assert.rejects(async () => reader.decrypt(value, storageKey), KmsUnavailable);
      assert.equal(asked, calls);
    });
  }

  it("that comes and goes is told of ten times in a minute at most", async () => {
    const { transformer, events, time } = process();
    for (let flap = 0; flap < 20; flap++) {
      for (const behaviour of ["fails", "works"] as const) {
        plugin.behaviour = behaviour;
        time.now += 10_000;
        await transformer.pollWhenDue();
        time.now += 60_000;
      }
    }
    assert.equal(events.filter(({ type }) => type === "failed").length, 10);
    assert.equal(events.filter(({ type }) => type === "works again").length, 10);
  });

  it("is asked for its key once a minute while it works, and every ten seconds while it does not", async () => {
    const { transformer, time } = process();
    const looksInTwoMinutes = async (): Promise<number> => {
      const before = plugin.calls.Status;
      for (let seconds = 0; seconds < 120; seconds++) {
        await transformer.pollWhenDue();
        time.now += 1000;
      }
      return plugin.calls.Status - before;
    };
    assert.equal(await looksInTwoMinutes(), 2);
    plugin.behaviour = "fails";
    assert.equal(await looksInTwoMinutes(), 12);
  });

  it("is asked again at once after the clock was set back", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const scene = process();
    plugin.behaviour = "fails";
    await assert.rejects(scene.decrypt(stored), /the HSM is on fire/);
    await assert.rejects(scene.transformer.encrypt(plain, storageKey), /the HSM is on fire/);
    plugin.behaviour = "works";
    scene.time.now -= minutes(60);
    await scene.transformer.encrypt(plain, storageKey);
    assert.deepEqual(await scene.decrypt(stored), { plain, isStale: false });
  });

  it("reports a value as unreadable while its key cannot be unwrapped, and notifies when it can", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const scene = process();
    await scene.transformer.pollWhenDue();
    plugin.behaviour = "refuses to decrypt";
    await assert.rejects(scene.decrypt(stored), {
      name: "UndecryptableValue",
      message: /does not decrypt its key: .*not yours/,
    });
    scene.time.now += minutes(1);
    await scene.transformer.pollWhenDue();
    assert.equal(scene.readable, 0);
    await assertReadAgain(scene, stored);
  });

  it("does not call a value changed because the plugin answered with another key", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const reader = process();
    plugin.behaviour = "mixes up its answers";
    await assert.rejects(reader.decrypt(stored), {
      name: "UndecryptableValue",
      message: /does not decrypt its key: .*another key each time/,
    });
    await assertReadAgain(reader, stored);
  });

  it("reads a value again when the plugin no longer gives the same wrong key each time", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const reader = process();
    plugin.behaviour = "gives one wrong key";
    for (let index = 0; index < 3; index++) {
      await assert.rejects(
        reader.decrypt(stored),
        (error) => error instanceof KmsUnavailable && /does not decrypt what it has just encrypted/.test(error.message),
      );
    }
    await assertReadAgain(reader, stored);
  });

  it("does not notify again and again of the key of a value that somebody changed", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const reader = process();
    stored[80] = (stored[80] ?? 0) ^ 1; // in the encrypted data
    for (let retries = 0; retries < 3; retries++) {
      await assert.rejects(reader.decrypt(stored), /changed/);
      reader.time.now += minutes(1);
      await reader.transformer.pollWhenDue();
    }
    assert.equal(reader.readable, 0);
  });

  it("asks the plugin once more, and not again, about the key of a value that somebody changed", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const reader = process();
    await reader.transformer.pollWhenDue();
    stored[80] = (stored[80] ?? 0) ^ 1; // in the encrypted data
    const before = plugin.calls.Decrypt;
    for (let index = 0; index < 3; index++) await assert.rejects(reader.decrypt(stored), /changed/);
    assert.equal(plugin.calls.Decrypt - before, 2);
  });

  it("lets no reader wait for a plugin that is silent, but the first, and asks it again by itself", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    plugin.keyId = "key-after-silence";
    const later = await process().transformer.encrypt(plain, storageKey);
    const scene = process({ timeoutMilliseconds: 1_500 });
    await scene.transformer.pollWhenDue();
    plugin.behaviour = "silent";
    await assert.rejects(scene.decrypt(stored), /did not answer/);
    const callsBefore = plugin.calls.Decrypt;
    scene.time.now += 5_000;
    await assert.rejects(scene.decrypt(stored), { name: "UndecryptableValue", message: /does not decrypt its key/ });
    assert.equal(plugin.calls.Decrypt, callsBefore);
    plugin.behaviour = "works";
    scene.time.now += 5_000;
    await scene.transformer.pollWhenDue();
    assert.equal(scene.readable, 1);
    assert.deepEqual((await scene.decrypt(stored)).plain, plain);
    assert.deepEqual((await scene.decrypt(later)).plain, plain, "a plugin that is back is asked for other keys too");
  });

  it("reads values of other keys while the plugin is silent about one", async () => {
    plugin.keyId = "key-lost";
    const lost = await process().transformer.encrypt(plain, storageKey);
    plugin.keyId = "key-other";
    const stored = await process().transformer.encrypt(plain, storageKey);
    const scene = process({ timeoutMilliseconds: 1_500 });
    await scene.transformer.pollWhenDue();
    plugin.silentKeyId = "key-lost";
    await assert.rejects(scene.decrypt(lost), /did not answer/);
    await assert.rejects(scene.decrypt(stored), /did not answer/);
    for (const _look of ["at the silent key", "at the other"]) {
      scene.time.now += 10_000;
      await scene.transformer.pollWhenDue();
    }
    assert.equal(scene.readable, 1);
    assert.deepEqual((await scene.decrypt(stored)).plain, plain);
  });

  it("tries all keys again seconds after the plugin was away for a moment, whoever asks for its health meanwhile", async () => {
    const writer = process();
    const stored: Buffer[] = [];
    for (let index = 0; index < 30; index++) {
      plugin.keyId = `key-of-many-${index}`;
      writer.time.now += minutes(1);
      await writer.transformer.pollWhenDue();
      stored.push(await writer.transformer.encrypt(plain, storageKey));
    }
    const reader = process();
    await reader.transformer.pollWhenDue();
    plugin.stop();
    for (const value of stored) await assert.rejects(reader.decrypt(value), { name: "UndecryptableValue" });
    await plugin.start();
    for (let checks = 0; checks < 2; checks++) {
      reader.time.now += 5_000;
      await reader.transformer.check();
      await reader.transformer.pollWhenDue();
    }
    assert.equal(reader.readable, 1);
    for (const value of stored) assert.ok(!(reader.transformer.decrypt(value, storageKey) instanceof Promise));
  });

  it("notifies that a key can be unwrapped when any value with it is read again", async () => {
    const stored = await process().transformer.encrypt(plain, storageKey);
    const scene = process();
    plugin.behaviour = "refuses to decrypt";
    await assert.rejects(scene.decrypt(stored), { name: "UndecryptableValue" });
    plugin.behaviour = "works";
    scene.time.now += 1500; // before the next look
    assert.deepEqual((await scene.decrypt(stored)).plain, plain);
    assert.equal(scene.readable, 1);
    assert.deepEqual((await scene.decrypt(stored)).plain, plain);
    assert.equal(scene.readable, 1);
  });

  it("refuses values that no plugin can have made", async () => {
    const scene = process();
    const stored = await scene.transformer.encrypt(plain, storageKey);
    const object = { encryptedData: Buffer.of(1), wrappedKey: { ...wrapped, keyId: "k".repeat(1025) }, keySource: 1 };
    const withPrefix = (made: EncryptedObject): Buffer =>
      Buffer.concat([Buffer.from(scene.transformer.prefix), encodeEncryptedObject(made)]);
    const withEndlessKeyId = withPrefix(object);
    const withoutData = withPrefix({ encryptedData: Buffer.alloc(0), wrappedKey: wrapped, keySource: 1 });
    for (const value of [
      withoutData,
      stored.subarray(0, 40),
      Buffer.concat([stored, Buffer.of(0xff)]),
      Buffer.from(scene.transformer.prefix),
      withEndlessKeyId,
    ]) {
      await assert.rejects(scene.decrypt(value), { name: "UndecryptableValue", message: /^it was / });
    }
  });
});
