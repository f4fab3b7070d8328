import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { generateTokenSigningKeyPem, parseTokenSigningKey } from "../../../src/features/accounts/tokens/token-key.ts";
import { keyRingRecord } from "../../../src/features/accounts/keys/key-ring.ts";
import type { RingKey } from "../../../src/features/accounts/keys/key-ring.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { readKeyRecord } from "../../../src/machinery/keys/key-records.ts";
import { SealingKey } from "../../../src/machinery/keys/sealing-key.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import { retireTokenKey, rotateTokenKey } from "../../../src/features/accounts/keys/rotate-token-key.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { skipsEtcd, startEtcd } from "../../machinery/storage/etcd/etcd-process.ts";
import { InProcess } from "../in-process.ts";
import { keptStore } from "../kept-store.ts";
import { ManualTime } from "../../manual-time.ts";
import { startTemporaryServer, startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const minute = 60_000;
const publishMilliseconds = 70 * minute;
const accounts = "/api/v1/namespaces/default/serviceaccounts";
const audience = "https://vault.example.com";

/** What tests ask of a server. */
class Asked {
  readonly api: InProcess;

  constructor(server: TestServer) {
    this.api = new InProcess(server);
  }

  async createAccount(): Promise<void> {
    await this.api.json(accounts, { method: "POST", body: { metadata: { name: "robot" } } });
  }

  async newToken(expirationSeconds = 3600): Promise<string> {
    const { status } = await this.api.json<{ status: { token: string } }>(`${accounts}/robot/token`, {
      method: "POST",
      body: { spec: { audiences: [audience], expirationSeconds } },
    });
    return status.token;
  }

  async isGood(token: string): Promise<boolean> {
    const { status } = await this.api.json<{ status: { authenticated?: boolean } }>(
      "/apis/authentication.platform.io/v1/tokenreviews",
      { method: "POST", body: { spec: { token, audiences: [audience] } } },
    );
    return status.authenticated === true;
  }

  keySet(): Promise<JSONWebKeySet> {
    return this.api.json<JSONWebKeySet>("/openid/v1/jwks");
  }
}

const kidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".", 1)[0] ?? "", "base64url").toString()) as { kid: string }).kid;

/** Keeps the keys of the issuer for an hour, as `cache-control` allows. */
class RelyingParty {
  #kept: { readonly keys: JSONWebKeySet; readonly at: number } | undefined;

  async verify(token: string, asked: Asked, now: number): Promise<void> {
    if (this.#kept === undefined || now - this.#kept.at >= 60 * minute)
      this.#kept = { keys: await asked.keySet(), at: now };
    await jwtVerify(token, createLocalJWKSet(this.#kept.keys), { audience, currentDate: new Date(now) });
  }
}

describe("token keys that rotate", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-rotation-"));
  const dataDirectory = join(folder, "one");
  const otherDirectory = join(folder, "other");
  const time = new ManualTime();
  const { clock } = time;
  const store = new MemoryStore();
  const start = (directory = dataDirectory, settings = {}): Promise<TestServer> =>
    startTemporaryServer({
      dataDirectory: directory,
      store: keptStore(store),
      clock,
      settings: { controllers: false, ...settings },
    });
  const keys = { store, dataDirectory, names: platformNames, sealingKey: SealingKey.open(newFolder(dataDirectory)) };
  const rotate = (algorithm?: "ES256" | "ES384" | "RS256" | "EdDSA") =>
    rotateTokenKey(keys, { algorithm, publishMilliseconds, clock });
  const retire = (kid: string, isForced = false) =>
    retireTokenKey({ ...keys, store: one.store }, { kid, isForced, clock });

  let one: TestServer;
  let other: TestServer;
  before(async () => {
    one = await start();
    mkdirSync(otherDirectory, { mode: 0o700 });
    for (const file of ["sealing.key", "service-account.key"]) {
      copyFileSync(join(dataDirectory, file), join(otherDirectory, file));
    }
    other = await start(otherDirectory);
    await new Asked(one).createAccount();
  });
  after(async () => {
    await one.stop();
    await other.stop();
    rmSync(folder, { recursive: true });
  });

  it("keep a server from starting whose file has another key than the others' file", async () => {
    const stranger = newFolder(join(folder, "other-key"));
    copyFileSync(join(dataDirectory, "sealing.key"), join(stranger, "sealing.key"));
    writeFileSync(join(stranger, "service-account.key"), generateTokenSigningKeyPem("ES256"), { mode: 0o600 });
    await assert.rejects(start(stranger), /service-account\.key is not the key .*; copy the same service-account\.key/);
  });

  it("invalidate no token: reviews and relying parties with keys of an hour ago accept it, at two servers", async () => {
    const [always, seldom, latest] = [new RelyingParty(), new RelyingParty(), new RelyingParty()];
    const issued: { readonly token: string; readonly endsAt: number }[] = [];
    const asked = [new Asked(one), new Asked(other)] as const;
    const kids = new Set<string>();
    for (let step = 0; step < 48; step += 1) {
      // Each time a rotation is over, the next one begins, with another algorithm.
      if (step % 12 === 3) await rotate((["EdDSA", "RS256", "ES384", "ES256"] as const)[(step - 3) / 12]);
      const [issuer, reviewer] = step % 2 === 0 ? asked : ([asked[1], asked[0]] as const);
      const lifetimes = [600, 3600, 1800 + step];
      const tokens = await Promise.all(lifetimes.map((seconds) => issuer.newToken(seconds)));
      for (const [index, token] of tokens.entries()) {
        issued.push({ token, endsAt: clock.now() + (lifetimes[index] ?? 0) * 1000 });
        kids.add(kidOf(token));
      }
      const valid = issued.filter(({ endsAt }) => endsAt > clock.now());
      const reviews = await Promise.all(valid.map(({ token }) => reviewer.isGood(token)));
      assert.ok(reviews.every((isGood) => isGood));
      // One verifies all tokens at each step, one seldom, and one those that are new.
      for (const { token } of valid) await always.verify(token, reviewer, clock.now());
      if (step % 3 === 0) for (const { token } of valid) await seldom.verify(token, issuer, clock.now());
      for (const token of tokens) await latest.verify(token, issuer, clock.now());
      time.pass(10 * minute);
    }
    assert.equal(kids.size, 5);
  });

  it("are retired when their last token has expired, and earlier only by force", async () => {
    const asked = new Asked(one);
    const token = await asked.newToken(24 * 3600);
    const kid = kidOf(token);
    await assert.rejects(retire(kid), /this key signs: rotate first/);
    await assert.rejects(retire(kid, true), /this key signs: rotate first/);
    const { added } = await rotate();
    time.pass(publishMilliseconds + 1000);
    await assert.rejects(retire(kid), /its last token ends at .*--force/);
    time.pass(24 * 60 * minute - publishMilliseconds);
    assert.equal(await asked.isGood(token), true, "the leeway");
    await assert.rejects(retire(kid), /its last token ends at/);
    time.pass(publishMilliseconds + 6 * 60 * minute);
    await retire(kid);
    await assert.rejects(retire(kid), /there is no key/);
    assert.ok(!(await new Asked(other).keySet()).keys.some((key) => key.kid === kid));
    const leaked = await asked.newToken();
    assert.equal(kidOf(leaked), added.kid);
    await rotate();
    time.pass(publishMilliseconds + 1000);
    const fresh = await asked.newToken();
    // The result of the last review is kept for ten seconds, but not beyond the key.
    assert.equal(await new Asked(other).isGood(leaked), false, "it has ended");
    await retire(added.kid, true);
    assert.equal(await new Asked(other).isGood(fresh), true);
  });

  it("invalidate all tokens of a leaked key at once, even those that were just reviewed", async () => {
    const [asked, elsewhere] = [new Asked(one), new Asked(other)];
    const token = await asked.newToken(24 * 3600);
    await rotate();
    time.pass(publishMilliseconds + 1000);
    assert.deepEqual([await asked.isGood(token), await elsewhere.isGood(token)], [true, true]);
    await retire(kidOf(token), true);
    assert.deepEqual([await asked.isGood(token), await elsewhere.isGood(token)], [false, false]);
  });

  it("are not retired while Secrets have tokens of them, which never expire", async () => {
    const asked = new Asked(one);
    const kid = kidOf(await asked.newToken(600));
    const header = Buffer.from(JSON.stringify({ alg: "ES256", kid })).toString("base64url");
    const secrets = "/api/v1/namespaces/default/secrets";
    const body = { metadata: { name: "forever" }, stringData: { token: `${header}.e30.AA` } };
    await asked.api.json(secrets, { method: "POST", body });
    await rotate();
    time.pass(publishMilliseconds + 24 * 60 * minute);
    await assert.rejects(retire(kid), /Secrets hold tokens of this key, which never end: default\/forever/);
    const withoutEncryptionKey = retireTokenKey(keys, { kid, isForced: false, clock });
    await assert.rejects(withoutEncryptionKey, /1 Secrets can't be read here, and may hold tokens of this key/);
    await asked.api.json(`${secrets}/forever`, { method: "DELETE" });
    const other = { metadata: { name: "other" }, stringData: { token: "unreadable" } };
    await asked.api.json(secrets, { method: "POST", body: other });
    await retire(kid);
    await asked.api.json(`${secrets}/other`, { method: "DELETE" });
  });

  it("rotate once when two operators rotate at the same time, and the rotation can be aborted", async () => {
    const outcomes = await Promise.allSettled([rotate(), rotate(), rotate()]);
    const [done, ...more] = outcomes.filter((outcome) => outcome.status === "fulfilled");
    assert.ok(done !== undefined && more.length === 0);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") assert.match(String(outcome.reason), /a rotation is under way/);
    }
    const { added } = done.value;
    const asked = new Asked(one);
    assert.ok((await asked.keySet()).keys.some((key) => key.kid === added.kid));
    await retire(added.kid);
    assert.ok(!(await asked.keySet()).keys.some((key) => key.kid === added.kid));
    time.pass(2 * publishMilliseconds);
    assert.notEqual(kidOf(await asked.newToken()), added.kid);
  });

  it("are not taken back by one who looked before they signed, and writes afterwards", async () => {
    const { added } = await rotate();
    const times = [clock.now(), clock.now() + publishMilliseconds + 1000];
    const passing = { now: () => (times.length > 1 ? times.shift() : times[0]) ?? 0 };
    const late = retireTokenKey({ ...keys, store: one.store }, { kid: added.kid, isForced: false, clock: passing });
    await assert.rejects(late, /this key signs: rotate first/);
    await retire(added.kid);
  });

  it("continue after the server was stopped in the middle, and after the clock went back", async () => {
    const token = await new Asked(one).newToken(24 * 3600);
    const { added } = await rotate();
    await one.stop();
    time.pass(publishMilliseconds + 1000);
    one = await start();
    const asked = new Asked(one);
    assert.equal(kidOf(await asked.newToken()), added.kid);
    assert.equal(await asked.isGood(token), true);
    time.pass(-30 * minute);
    const back = await asked.newToken();
    assert.equal(kidOf(back), kidOf(token), "the old key signs again until its time");
    time.pass(30 * minute);
    assert.equal(await asked.isGood(back), true);
  });

  it("change nothing when the store can't be written, and no token is issued without its record", async () => {
    const before = await new Asked(one).keySet();
    const write = () => Promise.reject(new StoreUnavailable("the disk is full"));
    const keysOfFullDisk = { ...keys, store: { ...keptStore(store), write } };
    await assert.rejects(
      rotateTokenKey(keysOfFullDisk, { algorithm: undefined, publishMilliseconds, clock }),
      StoreUnavailable,
    );
    assert.deepEqual(await new Asked(one).keySet(), before);
    const writeForReal = store.write;
    store.write = write;
    try {
      const longest = { spec: { audiences: [audience], expirationSeconds: 10 * 365 * 86_400 } };
      const answer = await new Asked(one).api.send(`${accounts}/robot/token`, { method: "POST", body: longest });
      assert.equal(answer.status, 503);
      assert.match(String(answer.body), /no token can be issued now: the disk is full/);
      assert.ok((await new Asked(one).newToken()).length > 0, "one that lives no longer than those before");
    } finally {
      store.write = writeForReal;
    }
  });

  it("are known that another process makes while this one writes down how long its tokens live", async () => {
    const writeForReal = store.write.bind(store);
    let added: RingKey | undefined;
    store.write = async (request) => {
      const written = await writeForReal(request);
      store.write = writeForReal;
      ({ added } = await rotate());
      return written;
    };
    await new Asked(one).newToken(20 * 365 * 86_400);
    assert.ok((await new Asked(one).keySet()).keys.some(({ kid }) => kid === added?.kid));
    await retire(added?.kid ?? "");
  });

  it("are not opened without the sealing key, or with one that others can read", async () => {
    const stranger = newFolder(join(folder, "stranger"));
    copyFileSync(join(dataDirectory, "service-account.key"), join(stranger, "service-account.key"));
    await assert.rejects(start(stranger), /sealing\.key is not there/);
    assert.ok(!existsSync(join(stranger, "sealing.key")));
    const kid = kidOf(await new Asked(one).newToken());
    await assert.rejects(retire(kid, true), /this key signs/);
    const lost = { ...keys, sealingKey: SealingKey.open(stranger), dataDirectory: stranger };
    await assert.rejects(start(stranger), /sealing\.key .* is not what the token key .* is sealed with/);
    await assert.rejects(retireTokenKey(lost, { kid, isForced: false, clock }), /this key signs/);
    const rotation = { algorithm: undefined, publishMilliseconds, clock };
    await assert.rejects(rotateTokenKey(lost, rotation), /sealing\.key .* is not what the token key .* is sealed with/);
    copyFileSync(join(dataDirectory, "sealing.key"), join(stranger, "sealing.key"));
    chmodSync(join(stranger, "sealing.key"), 0o640);
    await assert.rejects(start(stranger), /sealing\.key is open to other users/);
  });

  it("leave no file after a retirement that was killed, and are made again when they are lost", async () => {
    const alone = newFolder(join(folder, "alone"));
    const settings = { dataDirectory: alone, storage: "lmdb", settings: { controllers: false } } as const;
    const first = await startTestServer(settings);
    const opened = (): Parameters<typeof retireTokenKey>[0] => ({
      ...{ store: alive.store, dataDirectory: alone, names: platformNames, sealingKey: SealingKey.open(alone) },
    });
    let alive = first;
    await new Asked(first).createAccount();
    const token = await new Asked(first).newToken();
    const system = { now: Date.now };
    const { added } = await rotateTokenKey(opened(), { algorithm: undefined, publishMilliseconds: 0, clock: system });
    const [file, left] = ["service-account.key", "left.key"].map((name) => join(alone, name)) as [string, string];
    copyFileSync(file, left);
    const ofToken = { kid: kidOf(token), isForced: true, clock: system };
    await retireTokenKey(opened(), ofToken);
    assert.equal(existsSync(file), false);
    renameSync(left, file); // as a kill leaves it that comes after the record
    await retireTokenKey(opened(), ofToken);
    assert.equal(existsSync(file), false);
    await assert.rejects(retireTokenKey(opened(), ofToken), /there is no key/);
    rmSync(join(alone, "sealing.key"));
    await retireTokenKey(opened(), { kid: added.kid, isForced: true, clock: system });
    await first.stop();
    alive = await startTestServer(settings);
    assert.equal(await new Asked(alive).isGood(await new Asked(alive).newToken()), true);
    await alive.stop();
  });

  it("can't be reached by any request, and no private key is in the store unencrypted", async () => {
    const { entries } = await store.range({ start: "/keys/", end: "/keys0" });
    assert.equal(entries.length, 1);
    assert.doesNotMatch(String(entries[0]?.value), /PRIVATE KEY|BEGIN/);
    for (const path of [
      "/keys/tokens",
      "/api/v1/keys",
      "/api/v1/keys/tokens",
      "/apis/keys/tokens",
      "/registry/keys/tokens",
    ]) {
      const { status } = await new Asked(one).api.send(path);
      assert.equal(status, 404, path);
    }
  });
});

describe("token keys of the operator's files", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-operator-keys-"));
  const signing = join(folder, "signing.pem");
  const verifying = join(folder, "verifying.pem");
  const pems = [generateTokenSigningKeyPem("ES256"), generateTokenSigningKeyPem("RS256")] as const;
  let server: TestServer;
  before(async () => {
    writeFileSync(signing, pems[0]);
    writeFileSync(verifying, pems[0]);
    server = await startTestServer({
      settings: {
        controllers: false,
        "service-account-signing-key-file": signing,
        "service-account-key-file": [verifying],
      },
    });
    await new Asked(server).createAccount();
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const until = async (isDone: () => Promise<boolean>): Promise<void> => {
    while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  it("are read again when they change, and a broken file changes nothing", async () => {
    const asked = new Asked(server);
    const token = await asked.newToken();
    writeFileSync(verifying, "no key");
    writeFileSync(verifying, pems[0] + pems[1]);
    await until(async () => (await asked.keySet()).keys.length === 2);
    writeFileSync(signing, pems[1]);
    const { kid } = parseTokenSigningKey(pems[1]);
    await until(async () => kidOf(await asked.newToken()) === kid);
    assert.equal(await asked.isGood(token), true);
    assert.ok(!existsSync(join(server.dataDirectory, "service-account.key")));
  });

  it("are not rotated by the command, which says whose they are", async () => {
    const { store, dataDirectory } = server;
    const keys = { store, dataDirectory, names: platformNames, sealingKey: SealingKey.open(dataDirectory) };
    const clock = { now: Date.now };
    await assert.rejects(
      rotateTokenKey(keys, { algorithm: undefined, publishMilliseconds, clock }),
      /the key of --service-account-signing-key-file, which is yours/,
    );
  });
});

function newFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

describe("token keys of the operator's files, of replicas", { skip: skipsEtcd }, () => {
  it("are replaced while a server runs, which then starts without the old one", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "signet-replicas-keys-"));
    const [signing, verifying] = [join(folder, "signing.pem"), join(folder, "verifying.pem")];
    const [old, made] = [generateTokenSigningKeyPem("ES256"), generateTokenSigningKeyPem("ES256")];
    const { kid } = parseTokenSigningKey(made);
    const etcd = await startEtcd();
    t.after(async () => {
      await etcd.stop();
      rmSync(folder, { recursive: true });
    });
    const start = (): Promise<TestServer> =>
      startTestServer({
        storage: "lmdb",
        dataDirectory: join(folder, "data"),
        settings: {
          controllers: false,
          "etcd-servers": etcd.urls.join(","),
          "service-account-signing-key-file": signing,
          "service-account-key-file": [verifying],
        },
      });
    writeFileSync(signing, old);
    writeFileSync(verifying, old);
    const server = await start();
    writeFileSync(verifying, old + made);
    writeFileSync(signing, made);
    server.readFilesAgain();
    await eventually("the new key in the record", async () => {
      const { operatorKey } = (await readKeyRecord(server.store, keyRingRecord)).value ?? {};
      return operatorKey !== undefined && "kid" in operatorKey && operatorKey.kid === kid;
    });
    await eventually("the new key for other replicas", async () => {
      const { entries } = await server.store.range({ start: "/replicas/", end: "/replicas0" });
      return entries[0]?.value.includes(kid) === true;
    });
    await server.stop();
    writeFileSync(verifying, made);
    await (await start()).stop();
  });
});
