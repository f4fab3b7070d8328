import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { after, describe, it, test } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../../../src/machinery/client/https/https-transport.ts";
import { publishedBundle } from "../../../../src/features/certificates/bundles/bundle-names.ts";
import { PublishedBundles } from "../../../../src/features/certificates/bundles/published-bundles.ts";
import { trustBundlePublisher } from "../../../../src/features/certificates/bundles/trust-bundle-publisher.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { InformerSet } from "../../../../src/machinery/loops/informer-set.ts";
import type { InformerHandler } from "../../../../src/machinery/loops/informer.ts";
import { loopContext } from "../../../run-loop.ts";
import {
  parseRemovalTimes,
  publishedAnchors,
} from "../../../../src/features/certificates/bundles/published-anchors.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { encodeCertificatesPem, parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import type { ClusterTrustBundle } from "../../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import { ReplacedAuthorities } from "../../../../src/features/certificates/authorities/replaced-authorities.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateFolder, CertificateScene, newAuthority, until } from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { userOf } from "../../../user-of.ts";

const day = 86_400_000;
const noneReplaced: ReadonlyMap<string, number> = new Map();

describe("the published anchors of a signer", () => {
  const [first, second] = [newAuthority("first").certificate, newAuthority("second").certificate];
  const start = Date.now();

  it("keep a replaced CA until nothing that it signed can be valid", () => {
    const overlapMilliseconds = 10 * day;
    let published: readonly (typeof first)[] = [];
    let replaced = noneReplaced;
    const publishAt = (now: number, ...current: readonly (typeof first)[]): (string | undefined)[] => {
      const next = publishedAnchors({ current, published, replaced, now, overlapMilliseconds });
      ({ anchors: published, replaced } = next);
      return published.map(({ subject }) => subject.commonName);
    };
    assert.deepEqual(publishAt(start, first), ["first"]);
    assert.deepEqual(publishAt(start + day, second), ["second", "first"]);
    // A later look does not begin the time anew.
    assert.deepEqual(publishAt(start + 11 * day - 1, second), ["second", "first"]);
    assert.deepEqual(publishAt(start + 11 * day, second), ["second"]);
    assert.equal(replaced.size, 0);
  });

  it("do not keep a CA after its own end, or as replaced when it signs again", () => {
    const replacedNow = {
      current: [second],
      published: [first],
      replaced: noneReplaced,
      overlapMilliseconds: 1000 * day,
    };
    const kept = publishedAnchors({ ...replacedNow, now: first.notAfter - 1 });
    assert.deepEqual([...kept.replaced.values()], [first.notAfter]);
    assert.deepEqual(publishedAnchors({ ...replacedNow, now: first.notAfter }).anchors, [second]);
    const back = publishedAnchors({ ...replacedNow, ...kept, current: [first, second], now: start });
    assert.deepEqual([back.anchors, back.replaced.size], [[first, second], 0]);
  });
});

test("a removal time that cannot be read is left out, as if the CA had just been replaced", () => {
  const replaced = parseRemovalTimes("x,,a=nonsense,b=2026-11-29T07:00:00Z");
  assert.deepEqual([...replaced], [["b", Date.parse("2026-11-29T07:00:00Z")]]);
});

test("the recall of a deleted bundle is forgotten for a signer whose bundle the server does not publish", async () => {
  const recalls = async (isOwn: boolean): Promise<unknown> => {
    const bundles = new PublishedBundles({ isOwnSigner: () => isOwn, names });
    const annotations = { "signet.platform.io/renew-issued-before": "2026-11-29T07:00:00Z" };
    const bundle: ClusterTrustBundle = {
      apiVersion: "",
      kind: "",
      metadata: { name: "example.com:signer:ca" },
      spec: { signerName: "example.com/signer", trustBundle: "" },
    };
    bundles.observe({ ...bundle, metadata: { ...bundle.metadata, annotations } }, { isDeleted: true });
    let written: ClusterTrustBundle | undefined;
    await bundles.create(bundle, async (sent) => (written = sent));
    return written?.metadata.annotations;
  };
  assert.deepEqual(await recalls(false), {});
  assert.deepEqual(await recalls(true), { "signet.platform.io/renew-issued-before": "2026-11-29T07:00:00Z" });
});

describe("the trust bundle publisher", () => {
  const folder = new CertificateFolder();
  after(() => folder.remove());
  const signerName = signerNames.nodeAgentServing(names);

  const bundleWith = (server: TestServer, ...subjects: readonly string[]): Promise<ClusterTrustBundle> => {
    const { client, references } = new CertificateScene(server.client);
    return until(client, references.clusterTrustBundles, ({ spec }) => {
      const anchors = parseCertificatesPem(spec.trustBundle).map(({ subject }) => subject.commonName);
      return spec.signerName === signerName && anchors.join() === subjects.join();
    });
  };

  /** A publisher that has published a CA, and knows of bundles only what the test tells its handler. */
  const startWithEvents = async (server: TestServer) => {
    let handler: InformerHandler<ApiObject> = {};
    const informers = new InformerSet(server.client, {
      open: () => ({
        get: () => undefined,
        list: () => [].values(),
        addHandler: (given) => void (handler = given),
        start: async () => {},
      }),
    });
    const { certificate } = newAuthority("first");
    const publisher = trustBundlePublisher({
      signerNames: () => [signerName],
      anchorsFor: () => [certificate],
      overlapMilliseconds: () => day,
      isRetired: () => false,
    });
    const context = loopContext({ client: server.client, informers });
    const { queue, onSynced } = publisher.start({ ...context, name: publisher.name });
    onSynced?.();
    await queue.whenIdle();
    return { handler, queue };
  };

  it("restores what another client changed or removed", async () => {
    const server = await startTestServer();
    const { metadata, spec } = await bundleWith(server, "signet-nodeagent-serving-ca");
    const bundles = server.client.resource(new CertificateScene(server.client).references.clusterTrustBundles);
    await bundles.delete(metadata.name ?? "");
    const again = await bundleWith(server, "signet-nodeagent-serving-ca");
    assert.equal(again.spec.trustBundle, spec.trustBundle);
  });

  it("keeps the recall of a bundle that another client has removed", async () => {
    const server = await startTestServer();
    const { metadata } = await bundleWith(server, "signet-nodeagent-serving-ca");
    const { clusterTrustBundles } = new CertificateScene(server.client).references;
    const bundles = server.client.resource(clusterTrustBundles);
    const annotate = (annotations: Record<string, string>) =>
      bundles.patch(metadata.name ?? "", { body: { metadata: { annotations } } });
    // The publisher may not have answered the first change yet when the others come.
    await annotate({ "signet.platform.io/retired-trust-anchors": "x" });
    await annotate({ "signet.platform.io/renew-issued-before": "2026-11-29T07:00:00Z" });
    await bundles.delete(metadata.name ?? "");
    const again = await bundleWith(server, "signet-nodeagent-serving-ca");
    assert.notEqual(again.metadata.uid, metadata.uid);
    assert.equal(again.metadata.annotations?.["signet.platform.io/renew-issued-before"], "2026-11-29T07:00:00Z");
  });

  it("waits for the last changes of a bundle that is gone: one of them may be its recall", async () => {
    const server = await startTestServer({ settings: { controllers: false } });
    const { handler, queue } = await startWithEvents(server);
    const bundles = server.client.resource(new CertificateScene(server.client).references.clusterTrustBundles);
    const name = publishedBundle(signerName);
    const first = await bundles.get(name);
    const annotations = { "signet.platform.io/renew-issued-before": "2026-11-29T07:00:00Z" };
    const recalled = await bundles.patch(name, { body: { metadata: { annotations } } });
    await bundles.delete(name);
    for (let looks = 0; looks < 2; looks++) {
      queue.add(signerName);
      await queue.whenIdle();
    }
    assert.equal(await bundles.find(name), undefined);
    handler.onAdd?.(first);
    handler.onUpdate?.(recalled, first);
    handler.onDelete?.(recalled);
    await queue.whenIdle();
    const next = await bundles.get(name);
    assert.equal(next.metadata.annotations?.["signet.platform.io/renew-issued-before"], "2026-11-29T07:00:00Z");
    await queue.stop();
  });

  it("leaves the other bundles of its signer as they are", async () => {
    const server = await startTestServer({ settings: { controllers: false } });
    const { handler, queue } = await startWithEvents(server);
    const bundles = server.client.resource(new CertificateScene(server.client).references.clusterTrustBundles);
    const own = await bundles.get(publishedBundle(signerName));
    const metadata = { name: own.metadata.name?.replace(/ca$/, "other") ?? "" };
    const spec = { signerName, trustBundle: encodeCertificatesPem([newAuthority("other").certificate]) };
    const other = await bundles.create({ ...own, metadata, spec });
    handler.onAdd?.(own);
    handler.onAdd?.(other);
    const labelled = await bundles.patch(metadata.name, { body: { metadata: { labels: { a: "b" } } } });
    handler.onUpdate?.(labelled, other);
    await queue.whenIdle();
    assert.deepEqual(await bundles.get(metadata.name), labelled);
    await queue.stop();
  });

  it("publishes the old CA beside the new one, and a prepared CA before it signs", async () => {
    const [first, second, third] = [newAuthority("first"), newAuthority("second"), newAuthority("third")];
    const settings = {
      "cluster-signing-cert-file": folder.write("ca.crt", first.certificate, second.certificate),
      "cluster-signing-key-file": folder.writeKey("ca.key", first),
    };
    const server = await startTestServer({ settings });
    await bundleWith(server, "first", "second");
    folder.write("ca.crt", second.certificate, third.certificate);
    folder.writeKey("ca.key", second);
    // Any write of the bundle makes the publisher look at once.
    const bundle = await bundleWith(server, "first", "second");
    const { references } = new CertificateScene(server.client);
    await server.client
      .resource(references.clusterTrustBundles)
      .patch(bundle.metadata.name ?? "", { body: { metadata: { labels: { looked: "at" } } } });
    const rotated = await bundleWith(server, "second", "third", "first");
    assert.match(rotated.metadata.annotations?.["signet.platform.io/retired-trust-anchors"] ?? "", /^[0-9a-f]{64}=/);
  });
});

describe("clients of a replaced CA", () => {
  const folder = new CertificateFolder();
  after(() => folder.remove());

  it("are remembered as long as their certificates may be valid, across restarts", () => {
    const [first, second] = [newAuthority("first").certificate, newAuthority("second").certificate];
    let now = Date.now();
    const open = (): ReplacedAuthorities =>
      new ReplacedAuthorities({
        onReplaced: () => {},
        writing: { failed: assert.fail, succeeded: () => {} },
        file: folder.file("known.json"),
        clock: { now: () => now },
        overlapMilliseconds: day,
      });
    open().observe([first]);
    const reopened = open();
    reopened.observe([second]);
    assert.deepEqual(
      reopened.certificates().map(({ subject }) => subject.commonName),
      ["first"],
    );
    now += day - 1000;
    const later = open();
    later.observe([second]);
    assert.equal(later.certificates().length, 1);
    now += 2000;
    assert.equal(later.certificates().length, 0);
  });

  it("are known while the file can't be written, and are written down when it can", () => {
    const [first, second] = [newAuthority("first").certificate, newAuthority("second").certificate];
    const told: string[] = [];
    const file = folder.file("unwritable.json");
    const known = new ReplacedAuthorities({
      onReplaced: () => {},
      writing: { failed: (error) => told.push(String(error)), succeeded: () => told.push("written") },
      ...{ file, clock: { now: Date.now }, overlapMilliseconds: day },
    });
    known.observe([first]);
    rmSync(file);
    mkdirSync(file);
    known.observe([second]);
    assert.deepEqual(known.certificates(), [first]);
    rmdirSync(file);
    known.observe([second]);
    known.observe([second]);
    assert.match(told.join(), /^written,UnusableFile: .*unwritable\.json is a folder; name a file,written$/);
    assert.ok(readFileSync(file, "utf8").includes("acceptedUntil"));
  });

  it("keep authenticating together with those of the new one", async () => {
    const [first, second] = [newAuthority("first"), newAuthority("second")];
    const settings = {
      "cluster-signing-cert-file": folder.write("ca.crt", first.certificate),
      "cluster-signing-key-file": folder.writeKey("ca.key", first),
    };
    const server = await startTestServer({ settings });
    const before = await clientCertificate(server, "before");
    assert.equal(await whoIs(server, before), "before");
    folder.write("ca.crt", second.certificate);
    folder.writeKey("ca.key", second);
    server.readFilesAgain();
    const behind = await clientCertificate(server, "behind");
    assert.equal(await whoIs(server, behind), "behind");
    assert.equal(await whoIs(server, before), "before");
    assert.equal(parseCertificatesPem(behind.certificate)[0]?.issuer.commonName, "second");
  });
});

interface Pair {
  readonly certificate: string;
  readonly key: string;
}

async function clientCertificate(server: TestServer, user: string): Promise<Pair> {
  const scene = new CertificateScene(server.client);
  const privateKey = generatePrivateKey("ECDSA P-256");
  const pem = createCertificateRequestPem({
    privateKey,
    subject: { commonName: user },
    subjectAltNames: noSubjectAltNames,
  });
  await scene.requests.create({
    apiVersion: "certificates.platform.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: user },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: signerNames.apiserverClient(names),
      usages: ["client auth"],
    },
    status: {},
  });
  await scene.approve(user);
  const { status } = await scene.settled(user, (request) => Boolean(request.status.certificate));
  return {
    certificate: Buffer.from(status.certificate ?? "", "base64").toString("utf8"),
    key: encodePrivateKeyPem(privateKey),
  };
}

/** The user that the server authenticates a certificate as, over a new connection. */
async function whoIs(server: TestServer, clientCertificate: Pair): Promise<string | undefined> {
  const transport = httpsTransport({ server: server.url, caCertificates: server.caCertificates, clientCertificate });
  const client = new ApiClient(transport);
  const { username } = await userOf(client);
  client.close();
  return username;
}
