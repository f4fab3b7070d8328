import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, it } from "node:test";
import { readRing, rotateTokenKey } from "../../../src/features/accounts/keys/rotate-token-key.ts";
import { authorityFileName } from "../../../src/features/certificates/authorities/data-directory-authorities.ts";
import { bySigner } from "../../../src/features/certificates/signers/well-known-signers.ts";
import { fingerprintOf } from "../../../src/pki/certificates/certificate.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { authorityRecord } from "../../../src/features/certificates/authorities/authority-record.ts";
import type { RotatedAuthority } from "../../../src/features/certificates/authorities/authority-record.ts";
import {
  abortRotation,
  prepareAuthority,
  switchAuthority,
} from "../../../src/features/certificates/authorities/rotate-authority.ts";
import { systemClock as clock } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { readKeyRecord } from "../../../src/machinery/keys/key-records.ts";
import { SealingKey } from "../../../src/machinery/keys/sealing-key.ts";
import { MemoryStore } from "../../../src/machinery/storage/backends/memory.ts";
import { StoreUnavailable } from "../../../src/machinery/storage/store.ts";
import type { Store } from "../../../src/machinery/storage/store.ts";
import { readSharedSealingKeyId, refuseOtherDataDirectory } from "../../../src/server/store/replica-identity.ts";
import { resealKeys } from "../../../src/server/store/reseal-keys.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { keptStore } from "../kept-store.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const certificateAuthority = "nodeagent-client-ca";

describe("a server that has lost its sealing key", () => {
  const folder = temporaryFolder();
  let dataDirectory: string;
  let store: Store;
  beforeEach(async () => {
    dataDirectory = mkdtempSync(join(folder, "data-"));
    store = new MemoryStore();
    await (await start()).stop();
  });

  const start = (): Promise<TestServer> =>
    startTestServer({ dataDirectory, store: keptStore(store), settings: { controllers: false } });
  const keys = () => ({ store, dataDirectory, names, sealingKey: SealingKey.open(dataDirectory) });
  const name = certificateAuthority;
  const prepare = () => prepareAuthority(keys(), { name, clock });
  const switchToPrepared = () => switchAuthority(keys(), { name, clock, isForced: true });
  const rotateKey = () => rotateTokenKey(keys(), { algorithm: undefined, publishMilliseconds: 0, clock });
  const file = (of: string): string => join(dataDirectory, of);
  const refuse = (): Promise<never> => Promise.reject(new Error("not confirmed"));
  const reseal = (of: Store = store, confirm: () => Promise<void> = async () => {}) =>
    resealKeys({ store: of, dataDirectory, confirm, clock });
  const authority = async (): Promise<RotatedAuthority> =>
    (await readKeyRecord(store, authorityRecord)).value?.authorities[name] ?? assert.fail();
  const statesOf = ({ generations }: RotatedAuthority): [string, string][] =>
    generations.map(({ fingerprint, state }) => [fingerprint, state]);
  const lose = (): void => rmSync(file("sealing.key"));

  it("starts with another one, and its CA signs as before: the CA's key was in its file, too", async () => {
    const prepared = await prepare();
    const [[signing] = assert.fail()] = statesOf(await authority());
    const { previous } = await rotateKey();
    lose();
    await assert.rejects(start(), /sealing\.key is not there.*signet keys reseal/);
    const said = (await reseal()).join("\n");
    assert.match(said, /made a new key\n.*nodeagent-client-ca: sealed the key of CN=signet-nodeagent-client-ca, which/);
    assert.match(said, /gave up CN=signet-nodeagent-client-ca-\w{8}: it is not trusted.*\ngave up the token key/);
    assert.deepEqual(statesOf(await authority()), [[signing, "signing"]]);
    assert.deepEqual((await authority()).retired, [prepared.fingerprint]);
    assert.deepEqual(
      (await readRing({ store })).keys.map(({ kid }) => kid),
      [previous.kid],
    );
    await (await start()).stop();
    await prepare();
    await rotateKey();
  });

  it("lets that CA sign whose key is in the file, when no server has run since the switch", async () => {
    await prepare();
    const [[first] = assert.fail()] = statesOf(await authority());
    await switchToPrepared();
    lose();
    await reseal();
    assert.deepEqual(statesOf(await authority()), [[first, "signing"]]);
    await (await start()).stop();
  });

  it("keeps the CA that signs since the switch, and ends the trust in the one before", async () => {
    const { fingerprint } = await prepare();
    await switchToPrepared();
    await (await start()).stop();
    lose();
    await reseal();
    assert.deepEqual(statesOf(await authority()), [[fingerprint, "signing"]]);
    assert.equal((await authority()).retired.length, 1);
    await (await start()).stop();
  });

  it("is given nothing, and loses nothing, when a CA's key is in no file", async () => {
    await prepare();
    lose();
    copyFileSync(file("ca.key"), file(`${name}.key`));
    const before = await store.latestRevision();
    await assert.rejects(reseal(), /nodeagent-client-ca\.key is not the key of the CA .*copy it from a backup/);
    rmSync(file(`${name}.key`));
    await assert.rejects(reseal(), /nodeagent-client-ca\.key is not the key of the CA/);
    assert.ok(!existsSync(file("sealing.key")));
    assert.equal(await store.latestRevision(), before);
  });

  it("is left alone while its sealing key opens everything", async () => {
    await prepare();
    const [before, kept] = [await store.latestRevision(), readFileSync(file("sealing.key"))];
    await assert.rejects(reseal(store, refuse), /nothing to do/);
    await abortRotation(keys(), { name, clock });
    await assert.rejects(reseal(), /nothing to do/);
    assert.deepEqual(readFileSync(file("sealing.key")), kept);
    assert.equal(await store.latestRevision(), before + 1);
  });

  it("is a replica on etcd whose new key is recorded for all", async () => {
    const identity = { authority: "", ofSigner: {}, signingKeyId: "", sealingKeyId: SealingKey.open(dataDirectory).id };
    const value = Buffer.from(JSON.stringify(identity));
    await store.write({ key: "/replicas/identity", value, expectedRevision: 0 });
    lose();
    const said = await reseal();
    assert.match(said.at(-1) ?? "", /copy sealing\.key into the data directories of all other replicas/);
    assert.equal(await readSharedSealingKeyId(store), SealingKey.open(dataDirectory).id);
    await assert.rejects(reseal(), /nothing to do/);
  });

  it("is a replica on etcd only if the folder has the CAs that the others have recorded", async () => {
    const fingerprint = (of: string): string =>
      parseCertificatesPem(readFileSync(file(of), "utf8")).map(fingerprintOf)[0] ?? assert.fail();
    const ofSigner = bySigner((shortName) => fingerprint(`${authorityFileName(shortName)}.crt`));
    const identity = { authority: fingerprint("ca.crt"), ofSigner, signingKeyId: "" };
    const value = Buffer.from(JSON.stringify(identity));
    await store.write({ key: "/replicas/identity", value, expectedRevision: 0 });
    await refuseOtherDataDirectory(store, dataDirectory);
    const empty = mkdtempSync(join(folder, "empty-"));
    await assert.rejects(refuseOtherDataDirectory(store, empty), /is not the data directory of a server on this etcd/);
    assert.deepEqual(readdirSync(empty), []);
    const ofAnother = mkdtempSync(join(folder, "other-"));
    await (await startTestServer({ dataDirectory: ofAnother, settings: { controllers: false } })).stop();
    await assert.rejects(refuseOtherDataDirectory(store, ofAnother), /ca\.crt is not the CA that its servers have/);
    copyFileSync(file("ca.crt"), join(ofAnother, "ca.crt"));
    await assert.rejects(refuseOtherDataDirectory(store, ofAnother), /-ca\.crt is not the CA/);
  });

  it("keeps a link to a sealing key that is not there now", async () => {
    lose();
    symlinkSync("not-mounted/sealing.key", file("sealing.key"));
    await assert.rejects(reseal(), /is a link to a file that is not there: bring that back/);
    assert.ok(lstatSync(file("sealing.key")).isSymbolicLink());
  });

  it("is resealed to the end by a second run, wherever the first one broke off", async () => {
    for (const writes of [0, 1]) {
      await prepare();
      const { added } = await rotateKey();
      lose();
      await assert.rejects(reseal(failingAfter(store, writes)), StoreUnavailable);
      await reseal();
      assert.ok((await readRing({ store })).keys.every(({ kid }) => kid !== added.kid));
      assert.equal((await authority()).generations.length, 1);
      await (await start()).stop();
    }
  });
});

/** A store that takes a number of writes, and fails at the next. */
function failingAfter(store: Store, writes: number): Store {
  let left = writes;
  return {
    ...keptStore(store),
    async write(request) {
      left -= 1;
      if (left < 0) throw new StoreUnavailable("it failed for the test");
      return store.write(request);
    },
  };
}
