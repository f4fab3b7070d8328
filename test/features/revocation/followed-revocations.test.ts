import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connectRevocation, revocationKinds } from "../../../src/features/revocation/feature.ts";
import { revocationResource } from "../../../src/features/revocation/resources.ts";
import { systemClock } from "../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { Stores } from "../../../src/machinery/registry/stores.ts";
import { createObject } from "../../../src/machinery/registry/writes/create-object.ts";
import { ChangeFeed } from "../../../src/machinery/storage/change-feed.ts";
import { withCredential } from "../../../src/machinery/authentication/presented-credential.ts";
import { ForgetfulStore } from "../../machinery/registry/forgetful-store.ts";

const admin = { username: "admin", groups: [], extra: {} };
const fingerprint = "ab".repeat(32);
const ann = withCredential(
  { username: "ann", groups: [], extra: {} },
  { type: "certificate", fingerprint, serialNumber: "1", issuer: "CN=ca", subject: "CN=ann", notBefore: 0 },
);

test("a revocation that could not be decrypted refuses its certificate, and is told to listeners, as soon as it can be", async () => {
  const store = new ForgetfulStore();
  const feed = new ChangeFeed({ store, replayLength: 0 });
  const definitions = revocationKinds.map((define) => define(names));
  const shared = { clock: systemClock, maximumObjectBytes: 2 ** 20, onWritten: () => {}, onRefused: () => {} };
  const stores = new Stores({ names, definitions, store, feed, ...shared, quota: undefined });
  await stores.start();
  stores.admitThrough([]);
  const registry = stores.of(revocationResource);
  const revoke = (name: string, certificate: { readonly fingerprint: string }) =>
    createObject(registry, {
      object: { apiVersion: registry.apiVersion, kind: "Revocation", metadata: { name }, spec: { certificate } },
      namespace: "",
      manager: "test",
      caller: { user: admin, isDryRun: false, signal: new AbortController().signal, warn: () => {} },
    });
  const reloadAfter = async (change: () => Promise<unknown>): Promise<void> => {
    await store.forget(async () => void (await change()));
    await registry.waitForFreshCache();
  };
  const revocation = connectRevocation(names, stores);
  const other = await revoke("other", { fingerprint: "cd".repeat(32) });
  await reloadAfter(async () => store.unreadable.add((await revoke("ann", { fingerprint })).key));
  let tellings = 0;
  await nextTurn();
  revocation.onRevoked(() => tellings++);
  assert.equal(revocation.refusalOf(ann), undefined);

  store.unreadable.clear();
  await reloadAfter(() => store.write({ key: other.key, value: undefined, expectedRevision: other.revision }));
  await nextTurn();
  assert.equal(tellings, 1);
  assert.equal(revocation.refusalOf(ann), "the client certificate has been revoked");
  feed.close();
});
