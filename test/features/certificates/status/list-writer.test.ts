import assert from "node:assert/strict";
import { test } from "node:test";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { authorityId } from "../../../../src/features/certificates/status/addresses.ts";
import { ListWriter } from "../../../../src/features/certificates/status/list-writer.ts";
import { readStoredList, storedListName } from "../../../../src/features/certificates/status/stored-list.ts";
import { configMapResource } from "../../../../src/features/core/index.ts";
import type { ConfigMap } from "../../../../src/features/core/index.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { parseRevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import type { RevocationList } from "../../../../src/pki/revocation/certificate-revocation-list.ts";
import { encodeElement } from "../../../../src/pki/der/der-writer.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { signingKeyOf } from "../../../../src/pki/keys/signing-key.ts";
import type { Log } from "../../../../src/machinery/logging/log.ts";
import { silent } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";

const hour = 3_600_000;
const privateKey = generatePrivateKey("ECDSA P-256");
const authority = rootSigningAuthority(
  createCertificateAuthority({
    subject: { commonName: "two writers" },
    privateKey,
    notBefore: Date.now() - hour,
    notAfter: Date.now() + 1000 * hour,
  }),
);
const id = authorityId(authority.certificate);

/** An entry of a list for a certificate: its serial number and the time of its revocation. */
const entry = (serialNumber: number): Buffer =>
  encodeElement(0x30, encodeElement(0x02, Buffer.of(serialNumber)), encodeElement(0x17, Buffer.from("260101000000Z")));

async function openWriters() {
  const server = await startTestServer({ settings: { controllers: false } });
  const stored = server.client.resource(configMapResource(names), names.namespaces.system);
  /** What all writers in this process know. */
  const known = new Map<string, ConfigMap>();
  const hear = async (): Promise<void> => {
    for (const object of (await stored.list()).items) {
      known.set(`${names.namespaces.system}/${object.metadata.name}`, object);
    }
  };
  const writer = ({
    urls = ["http://pki.test"],
    log = silent,
  }: { readonly urls?: readonly string[]; readonly log?: Pick<Log, "info" | "error"> } = {}): ListWriter =>
    new ListWriter({
      names,
      client: server.client,
      configMaps: known,
      settings: { listLifetimeMilliseconds: 24 * hour },
      urls: () => urls,
      refreshMilliseconds: hour,
      clock: systemClock,
      log,
    });
  const read = async (shard?: string): Promise<RevocationList> => {
    const { der = assert.fail() } =
      (await readStoredList(storedListName(id, shard), (one) => known.get(`${names.namespaces.system}/${one}`))) ?? {};
    return parseRevocationList(der);
  };
  return { hear, writer, read };
}

test("a writer that was suspended while it signed does not take back what another has written since", async () => {
  const { hear, writer, read } = await openWriters();
  const signed = Promise.withResolvers<void>();
  const key = signingKeyOf(privateKey);
  const slowly = {
    ...authority,
    privateKey: {
      publicKey: key.publicKey,
      async sign(data: Uint8Array): Promise<Buffer> {
        await signed.promise;
        return key.sign(data);
      },
    },
  };
  await writer().write({ authority, shard: undefined, entries: entry(1) });
  await hear();

  const late = writer().write({ authority: slowly, shard: undefined, entries: entry(2) });
  const newest = Buffer.concat([entry(2), entry(3)]);
  await writer().write({ authority, shard: undefined, entries: newest });
  await hear();
  signed.resolve();
  await assert.rejects(late, (error) => error instanceof ApiError && error.reason === "Conflict");

  await hear();
  assert.ok((await read()).entries.equals(newest));
});

test("writers that take turns continue each other's numbers, and replace each other's entries", async () => {
  const { hear, writer, read } = await openWriters();
  const [one, other] = [writer(), writer()];
  let last = 0;
  for (const [each, serialNumber] of [
    [one, 1],
    [other, 2],
    [one, 1],
    [other, 3],
    [one, 1],
  ] as const) {
    assert.equal(await each.write({ authority, shard: undefined, entries: entry(serialNumber) }), true);
    await hear();
    const { entries, number } = await read();
    assert.ok(entries.equals(entry(serialNumber)));
    assert.ok(number > last, `${number} after ${last}`);
    last = number;
  }
  assert.equal(await one.write({ authority, shard: undefined, entries: entry(1) }), false);
});

test("a list that could not be read is not published, and the log says so", async () => {
  const { hear, writer, read } = await openWriters();
  const logged: unknown[] = [];
  const log = { info: () => {}, error: (...said: unknown[]) => void logged.push(said) };
  const one = writer({ log });
  await one.write({ authority, shard: undefined, entries: entry(1) });
  await hear();
  const entries = Buffer.alloc(15 * 1024 * 1024 + 1);
  assert.equal(await one.write({ authority, shard: undefined, entries }), false);
  await hear();
  assert.ok((await read()).entries.equals(entry(1)));
  const fault = "the revocation list would be too large, so it is not published";
  assert.deepEqual(logged, [[{ controller: "revocation-list-publisher", ca: id, bytes: entries.length }, fault]]);
});

test("a part of a list keeps the URLs of earlier settings behind the new ones, but none that is too long, and no more than 128", async () => {
  const { hear, writer, read } = await openWriters();
  const shard = "07";
  const pointsWith = async (urls: readonly string[]): Promise<string[]> => {
    await writer({ urls }).write({ authority, shard, entries: entry(1) });
    await hear();
    return (await read(shard)).distributionPoints.map((url) => url.slice(0, url.indexOf(".test")));
  };
  const long = `http://${"l".repeat(500)}`;
  assert.deepEqual(await pointsWith(["http://first.test", `${long}.test`]), ["http://first", long]);
  assert.deepEqual(await pointsWith(["http://next.test"]), ["http://next", "http://first"]);
  const many = Array.from({ length: 127 }, (_, index) => `http://${index}.test`);
  assert.deepEqual((await pointsWith(many)).slice(126), ["http://126", "http://next"]);
});
