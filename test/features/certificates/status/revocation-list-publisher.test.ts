import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { before, beforeEach, describe, it } from "node:test";
import { configMapResource } from "../../../../src/features/core/index.ts";
import type { SigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { issuedCertificateResource } from "../../../../src/features/certificates/resources.ts";
import { authorityId, shardOf } from "../../../../src/features/certificates/status/addresses.ts";
import { revocationListPublisher } from "../../../../src/features/certificates/status/revocation-list-publisher.ts";
import { readStoredList, storedListName } from "../../../../src/features/certificates/status/stored-list.ts";
import { revocationResource } from "../../../../src/features/revocation/resources.ts";
import type { Revocation } from "../../../../src/features/revocation/resources.ts";
import type { Controller } from "../../../../src/machinery/loops/controller.ts";
import { timestamp } from "../../../../src/machinery/api/clock.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import type { ResourceType } from "../../../../src/machinery/api/resource-type.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { loopChannel } from "../../../../src/machinery/tracing/loop-trace.ts";
import type { TracedReconcile } from "../../../../src/machinery/tracing/loop-trace.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { parseRevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import type { RevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { KeyUnavailable, keyInProcess } from "../../../../src/pki/keys/signing-key.ts";
import { eventually } from "../../../end-to-end/eventually.ts";
import { ManualTime } from "../../../manual-time.ts";
import { runLoop, silent } from "../../../run-loop.ts";
import type { RunningLoop } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import type { Log } from "../../../../src/machinery/logging/log.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const newAuthority = (commonName: string, privateKey = generatePrivateKey("ECDSA P-256")) =>
  rootSigningAuthority(
    createCertificateAuthority({
      subject: { commonName },
      privateKey,
      notBefore: Date.now() - hour,
      notAfter: Date.now() + 1000 * hour,
    }),
  );
/** What the loop follows. */
const followed: readonly ResourceType[] = [
  revocationResource(names),
  issuedCertificateResource(names),
  configMapResource(names),
];
const versionsOf = (objects: Iterable<ApiObject>): readonly string[] =>
  [...objects].map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).toSorted();
const authority = newAuthority("publishing");
const id = authorityId(authority.certificate);
const issuer = "CN=publishing";

describe("revocation-list-publisher", () => {
  let server: TestServer;
  let time: ManualTime;
  let loop: RunningLoop;
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
  });

  /** Whether the loop can't read the records: one of them can't be decrypted, say. */
  let areRecordsUnreadable = false;
  /** What the loop has heard of. */
  let copies: readonly (() => Iterable<ApiObject>)[] = [];
  const watched = (publisher: Controller): Controller => ({
    name: publisher.name,
    start({ informers, ...context }) {
      copies = followed.map((type) => {
        const informer = informers.of<ApiObject>(type);
        return informer.list.bind(informer);
      });
      const records = informers.of(issuedCertificateResource(names));
      const all = records.list.bind(records);
      records.list = function* () {
        if (areRecordsUnreadable) throw new Error("a record can't be decrypted");
        yield* all();
      };
      return publisher.start({ ...context, informers });
    },
  });
  const start = async ({
    url = "http://pki.test",
    isSharded = false,
    authorities = [authority],
    configuredSigners = [],
    log = silent,
  }: {
    readonly url?: string;
    readonly isSharded?: boolean;
    readonly configuredSigners?: readonly { readonly revocationUrl: string | undefined }[];
    readonly authorities?: readonly SigningAuthority[];
    readonly log?: Pick<Log, "info" | "error">;
  } = {}): Promise<void> => {
    const settings = { url, listLifetimeMilliseconds: 24 * hour, isSharded };
    const publisher = revocationListPublisher({
      settings,
      authorities: () => authorities,
      configuredSigners: () => configuredSigners,
    });
    loop = await runLoop(server, watched(publisher), { time, log });
    await loop.queue.whenIdle();
  };
  /** Resolves when the loop has heard of all that the server has acknowledged: a change takes some time to reach it. */
  const heard = () =>
    eventually("the loop has heard of everything", async () => {
      for (const [index, type] of followed.entries()) {
        const { items } = await server.client.resource<ApiObject>(type).list();
        assert.deepEqual(versionsOf(copies[index]?.() ?? []), versionsOf(items));
      }
      return true;
    });
  /** Lets time pass for a loop that has heard of everything, until what is due has been done. */
  const pass = async (milliseconds: number): Promise<void> => {
    await heard();
    time.pass(milliseconds);
    await loop.queue.whenIdle();
  };
  const configMaps = () => server.client.resource(configMapResource(names), names.namespaces.system);
  const stored = async (shard?: string): Promise<RevocationList | undefined> => {
    const { items } = await configMaps().list();
    const found = await readStoredList(storedListName(id, shard), (name) =>
      items.find(({ metadata }) => metadata.name === name),
    );
    return found?.der && parseRevocationList(found.der);
  };
  const list = async (shard?: string): Promise<RevocationList> => {
    const found = await stored(shard);
    assert.ok(found, "there is no list");
    return found;
  };
  const holds = async (serialNumber: string, shard?: string): Promise<boolean> =>
    (await list(shard)).entries.toString("hex").includes(serialNumber);
  const revoke = (name: string, spec: Revocation["spec"]) =>
    server.client.resource(revocationResource(names)).create({ apiVersion: "", kind: "", metadata: { name }, spec });

  beforeEach(async () => {
    time = new ManualTime(Date.now());
    for (const { metadata } of (await configMaps().list()).items) {
      if (metadata.name?.startsWith("revocation-list-") === true) await configMaps().delete(metadata.name);
    }
    for (const resource of [revocationResource(names), issuedCertificateResource(names)]) {
      const all = server.client.resource<Revocation>(resource as ReturnType<typeof revocationResource>);
      for (const { metadata } of (await all.list()).items) await all.delete(metadata.name ?? "");
    }
  });

  it("signs a list every half hour, and otherwise only after a change", async () => {
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    await start();
    const first = await list();
    assert.equal(first.nextUpdate - time.clock.now() > 24 * hour - 2 * second, true);
    assert.equal(await holds("abc1"), true);
    await pass(29 * minute);
    assert.equal((await list()).number, first.number);
    await pass(minute);
    const next = await list();
    assert.ok(next.number > first.number && next.thisUpdate > first.thisUpdate);
    await loop.stop();
    await start();
    assert.equal((await list()).number, next.number);
    await loop.stop();
  });

  it("signs the lists again when the clock was set forward or back, as after a machine was suspended", async () => {
    await start();
    const first = await list();
    time.setClock(25 * hour);
    await pass(2 * second);
    await pass(minute);
    assert.ok((await list()).thisUpdate > first.nextUpdate);
    time.setClock(-50 * hour);
    await pass(2 * second);
    await pass(10 * second);
    assert.ok((await list()).thisUpdate < first.thisUpdate);
    await loop.stop();
  });

  it("keeps the last list of a CA whose key is lost, and logs until when it is valid and when it has expired", async () => {
    await revoke("before", { certificate: { issuer, serialNumber: "abc1" } });
    const authorities = [authority];
    const logged: { readonly ca?: string; readonly until?: string }[] = [];
    const log = { info: () => undefined, error: (said: object) => void logged.push(said) };
    await start({ authorities, log });
    const last = await list();
    authorities[0] = newAuthority("of another key");
    await pass(2 * second);
    await revoke("after", { certificate: { issuer, serialNumber: "abc2" } });
    await pass(3 * hour);
    const lasts = { controller: "revocation-list-publisher", ca: issuer, until: timestamp(last.nextUpdate) };
    assert.deepEqual(logged, [lasts]);
    assert.deepEqual((await list()).number, last.number);
    assert.equal(await holds("abc2"), false);
    await pass(22 * hour);
    await pass(hour);
    assert.deepEqual(logged, [lasts, lasts]);
    assert.deepEqual((await list()).number, last.number);
    // The key is back, for example from a backup.
    authorities.push(authority);
    await pass(2 * second);
    await pass(minute);
    assert.ok((await list()).number > last.number);
    assert.equal(await holds("abc2"), true);
    assert.equal(logged.length, 2);
    await loop.stop();
  });

  it("continues the numbers when the clock was set back, after a restart, and from the old number of a backup", async () => {
    await start();
    const first = await list();
    await loop.stop();
    time = new ManualTime(time.clock.now() - 48 * hour);
    await start();
    const next = await list();
    assert.equal(next.number, first.number + 1);
    assert.ok(next.thisUpdate < first.thisUpdate, "the time is the clock's");
    await loop.stop();
    time = new ManualTime(time.clock.now() + 96 * hour);
    await start();
    assert.equal((await list()).number, Math.floor(time.clock.now() / 1000));
    await loop.stop();
  });

  it("drops certificates half an hour after they expired, never before", async () => {
    const now = time.clock.now();
    const ends = (milliseconds: number): string => timestamp(now + milliseconds);
    await revoke("known", { certificate: { issuer, serialNumber: "abc1" }, expirationTimestamp: ends(10 * minute) });
    await revoke("other", { certificate: { issuer: "CN=other", serialNumber: "abc2" } });
    await revoke("stays", { certificate: { issuer, serialNumber: "abc3" } });
    await start();
    assert.deepEqual([await holds("abc1"), await holds("abc2"), await holds("abc3")], [true, false, true]);
    await pass(30 * minute);
    assert.equal(await holds("abc1"), true);
    await pass(30 * minute);
    assert.deepEqual([await holds("abc1"), await holds("abc3")], [false, true]);
    await loop.stop();
  });

  it("puts each certificate into its part of the list, and keeps the parts when the setting is removed", async () => {
    await start({ isSharded: true });
    await loop.stop();
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    await start();
    const own = shardOf(Buffer.from("abc1", "hex"));
    const other = own === "0" ? "1" : "0";
    assert.deepEqual([await holds("abc1"), await holds("abc1", own), await holds("abc1", other)], [true, true, false]);
    await loop.stop();
  });

  it("names in each part every URL by which certificates name it: also a signer's own, and those of earlier settings", async () => {
    const pathOf = (part: string): string => `/pki/crl/${id}/${part}.crl`;
    const urls = async (part: string): Promise<readonly string[]> => (await list(part)).distributionPoints;
    await start({ isSharded: true });
    assert.deepEqual(await urls("a"), [`http://pki.test${pathOf("a")}`]);
    await loop.stop();

    const signers = [undefined, "", "http://mirror.test"].map((revocationUrl) => ({ revocationUrl }));
    await start({ isSharded: true, url: "http://new.test", configuredSigners: signers });
    for (const part of ["0", "a"]) {
      const hosts = ["http://new.test", "http://mirror.test", "http://pki.test"];
      assert.deepEqual(
        await urls(part),
        hosts.map((host) => host + pathOf(part)),
      );
    }
    const { number } = await list("a");
    await pass(minute);
    assert.deepEqual([(await list("a")).number, (await list()).distributionPoints], [number, []]);
    await loop.stop();
  });

  it("takes no URL of another part from what somebody has stored in the place of a part", async () => {
    await start({ isSharded: true });
    await loop.stop();
    const other = await configMaps().get(storedListName(id, "b"));
    const { metadata } = await configMaps().get(storedListName(id, "a"));
    await configMaps().update({ ...other, metadata });
    await start({ isSharded: true });
    assert.deepEqual((await list("a")).distributionPoints, [`http://pki.test/pki/crl/${id}/a.crl`]);
    await loop.stop();
  });

  it("removes nothing from a list while the records cannot be read", async () => {
    const spec = {
      issuer,
      serialNumber: "abc7",
      subject: "CN=tablet",
      fingerprint: "ab".repeat(32),
      signerName: "example.com/x",
    };
    const [notBefore, notAfter] = [timestamp(time.clock.now() - hour), timestamp(time.clock.now() + 100 * hour)];
    await server.client
      .resource(issuedCertificateResource(names))
      .create({ apiVersion: "", kind: "", metadata: { name: "tablet" }, spec: { ...spec, notBefore, notAfter } });
    await revoke("tablets", { certificate: { subject: "CN=tablet" } });
    await start();
    const { number } = await list();
    assert.equal(await holds("abc7"), true);
    await loop.stop();
    areRecordsUnreadable = true;
    await start();
    for (let turn = 0; turn < 40; turn++) await pass(minute);
    assert.equal((await list()).number, number);
    areRecordsUnreadable = false;
    for (let turn = 0; turn < 40; turn++) await pass(minute);
    assert.ok((await list()).number > number);
    assert.equal(await holds("abc7"), true);
    await loop.stop();
  });

  it("signs no list for a CA without cRLSign, and logs that once", async () => {
    const unable = rootSigningAuthority({
      ...authority,
      certificate: { ...authority.certificate, keyUsages: ["certSign"] },
    });
    await start({ authorities: [unable] });
    await pass(hour);
    assert.equal(await stored(), undefined);
    await loop.stop();
  });

  it("makes one list for many revocations at once, and encodes each certificate once", async () => {
    let encoded = 0;
    const count = (message: unknown): void => {
      const { key, outcome } = message as TracedReconcile; // what the channel publishes
      if (key === "lists") encoded += Number(/encoded (\d+) entries/.exec(outcome)?.[1]);
    };
    loopChannel.subscribe(count);
    await start();
    const first = await list();
    for (let index = 0; index < 300; index++) {
      await revoke(`storm-${index}`, {
        certificate: { issuer, serialNumber: `abc${index.toString().padStart(5, "0")}` },
      });
    }
    await heard();
    assert.equal((await list()).number, first.number);
    await pass(minute);
    assert.equal(await holds("abc00299"), true);
    assert.equal((await list()).entries.length > 300 * 20, true);
    assert.equal(encoded, 300);
    await revoke("one-more", { certificate: { issuer, serialNumber: "def1" } });
    await pass(minute);
    assert.equal(await holds("def1"), true);
    await pass(hour);
    assert.equal(encoded, 301);
    loopChannel.unsubscribe(count);
    await loop.stop();
  });

  it("publishes the list of a new CA at the next check", async () => {
    const later: (typeof authority)[] = [];
    await start({ authorities: later });
    assert.equal(await stored(), undefined);
    later.push(authority);
    await pass(5 * second);
    await pass(second);
    assert.ok(await stored());
    await loop.stop();
  });

  it("stores the certificate of a CA again when it was renewed with the same key", async () => {
    const key = generatePrivateKey("ECDSA P-256");
    const [first, renewed] = [newAuthority("publishing", key), newAuthority("publishing", key)];
    const authorities = [first];
    await start({ authorities });
    const storedCertificate = async (): Promise<string | undefined> =>
      (await configMaps().get(storedListName(authorityId(first.certificate), undefined))).binaryData?.["ca.crt"];
    assert.equal(await storedCertificate(), first.certificate.der.toString("base64"));
    authorities[0] = renewed;
    await pass(5 * second);
    await pass(second);
    assert.equal(await storedCertificate(), renewed.certificate.der.toString("base64"));
    await loop.stop();
  });

  it("logs that a CA with another name has taken the place of one with the same key", async () => {
    const key = generatePrivateKey("ECDSA P-256");
    const authorities = [newAuthority("earlier", key)];
    const lines: unknown[] = [];
    const log = { ...silent, error: ({ ca, before }: Record<string, unknown>) => void lines.push([ca, before]) };
    await start({ authorities, log });
    for (const name of ["earlier", "later", "later"]) {
      authorities[0] = newAuthority(name, key);
      await pass(5 * second);
      await pass(second);
    }
    await loop.stop();
    assert.deepEqual(lines, [["CN=later", "CN=earlier"]]);
  });

  it("removes the rest of a list that has become short", async () => {
    await start();
    const { metadata } = await configMaps().get(storedListName(id, undefined));
    const leftover = `${storedListName(id, undefined)}-chunk-1`;
    await configMaps().create({
      kind: "",
      apiVersion: "",
      metadata: { ...metadata, resourceVersion: "", name: leftover },
    });
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    await pass(minute);
    assert.equal(await holds("abc1"), true);
    assert.equal(await configMaps().find(leftover), undefined);
    await loop.stop();
  });

  it("publishes the lists of other CAs while the key of one is away, and its list once the key is there", async () => {
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    const first = newAuthority("first");
    const key = keyInProcess(first.privateKey);
    let isAway = true;
    const sign = (data: Uint8Array) =>
      isAway ? Promise.reject(new KeyUnavailable("the token is away")) : key.sign(data);
    const away = { ...first, privateKey: { publicKey: key.publicKey, sign } };
    await start({ authorities: [away, authority] });
    assert.equal(await holds("abc1"), true);
    const name = storedListName(authorityId(first.certificate), undefined);
    await assert.rejects(configMaps().get(name), { code: 404 });
    isAway = false;
    await pass(minute);
    assert.equal((await configMaps().get(name)).metadata.name, name);
    await loop.stop();
  });

  it("logs why each of several lists cannot be signed", async () => {
    const errors: unknown[] = [];
    const log = { info: () => {}, error: (fields: object) => errors.push("error" in fields && fields.error) };
    const away = ["first", "other"].map((name): SigningAuthority => {
      const { privateKey, ...rest } = newAuthority(name);
      const sign = () => Promise.reject(new KeyUnavailable(`the token of ${name} is away`));
      return { ...rest, privateKey: { publicKey: keyInProcess(privateKey).publicKey, sign } };
    });
    await start({ authorities: away, log });
    assert.deepEqual(errors, ["the token of first is away; the token of other is away"]);
    await loop.stop();
  });

  it("replaces what somebody has stored in the place of a list, with what was revoked since", async () => {
    await start();
    const first = await list();
    const name = storedListName(id, undefined);
    const { data, binaryData, ...head } = await configMaps().get(name);
    const junk = Buffer.from("junk");
    await configMaps().update({
      ...head,
      data: { ...data, sha256: hash("sha256", junk, "hex") },
      binaryData: { ...binaryData, list: junk.toString("base64") },
    });
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    await pass(minute);
    assert.equal(await holds("abc1"), true);
    assert.ok((await list()).number > first.number);
    await loop.stop();
  });

  it("makes a list again that somebody has deleted", async () => {
    await start();
    await list();
    await configMaps().delete(storedListName(id, undefined));
    await pass(2 * second);
    assert.notEqual(await stored(), undefined);
    await loop.stop();
  });

  it("replaces a list that somebody has made immutable", async () => {
    await start();
    const first = await list();
    await configMaps().patch(storedListName(id, undefined), { body: { immutable: true } });
    await revoke("one", { certificate: { issuer, serialNumber: "abc1" } });
    await pass(minute);
    assert.ok((await list()).number > first.number);
    assert.equal(await holds("abc1"), true);
    await loop.stop();
  });

  it("continues from the number of another process that wrote in between", async () => {
    await start();
    const { number } = await list();
    const head = await configMaps().get(storedListName(id, undefined));
    await configMaps().update({ ...head, data: { ...head.data, number: String(number + 1000), sha256: "gone" } });
    await loop.stop();
    await start();
    assert.equal((await list()).number, number + 1001);
    await loop.stop();
  });

  it("numbers by the time where somebody has stored a number that no list can have", async () => {
    await start();
    for (const number of ["junk", "", "99999999999.5", "1e300", String(2 ** 46)]) {
      await loop.stop();
      const head = await configMaps().get(storedListName(id, undefined));
      await configMaps().update({ ...head, data: { ...head.data, number, sha256: "gone" } });
      await start();
      assert.equal((await list()).number, Math.floor(time.clock.now() / 1000), number);
    }
    await loop.stop();
  });
});
