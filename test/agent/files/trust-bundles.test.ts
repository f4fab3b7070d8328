import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, test } from "node:test";
import type { TestContext } from "node:test";
import { joinedAnchors } from "../../../src/agent/files/joined-anchors.ts";
import { followTrustBundles } from "../../../src/agent/files/trust-bundle-follower.ts";
import { FailureLog } from "../../../src/agent/failure-log.ts";
import type { TrustBundleFile, TrustStoreFormat } from "../../../src/agent/agent-settings.ts";
import { namesFor, platformNames } from "../../../src/machinery/api/names.ts";
import { resourceReferences } from "../../resource-references.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { encodeJavaTrustStore } from "../../../src/pki/key-stores/java-key-store.ts";
import { encodePkcs12TrustStore } from "../../../src/pki/key-stores/pkcs12.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import type { ResourceClient } from "../../../src/machinery/client/api-client.ts";
import type { ClusterTrustBundle } from "../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import { eventually } from "../../end-to-end/eventually.ts";
import { newAuthority } from "../../end-to-end/signing-authority.ts";
import { startTestServer } from "../../test-server.ts";
import { nodeClient } from "../node/node-client.ts";
import { VirtualTime } from "../virtual-time.ts";

const anchor = (name: string): string => encodePem("CERTIFICATE", newAuthority(name).certificate.der);
const [one, two, three] = [anchor("one"), anchor("two"), anchor("three")];

const bundle = (name: string, trustBundle: string, signerName?: string): ClusterTrustBundle => ({
  apiVersion: "certificates.platform.io/v1beta1",
  kind: "ClusterTrustBundle",
  metadata: { name },
  spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
});

async function scene(
  context: TestContext,
  { store, ...source }: TrustBundleFile["source"] & { readonly store?: TrustStoreFormat },
) {
  const server = await startTestServer({ settings: { controllers: false } });
  const folder = mkdtempSync(join(tmpdir(), "signet-bundles-"));
  const stopping = new AbortController();
  const file = join(folder, "trust", "anchors.pem");
  const bundles = server.client.resource(resourceReferences(platformNames).clusterTrustBundles);
  const seen: {
    changes: string[];
    repairs: number;
    count: number;
    news: string[];
    warnings: number;
    faults: number;
    fault?: string;
  } = {
    changes: [],
    repairs: 0,
    news: [],
    count: -1,
    warnings: 0,
    faults: 0,
  };
  const time = new VirtualTime(0);
  const log = {
    info: (_fields: object, message: string) => void seen.news.push(message),
    warn: () => void seen.warnings++,
    error: () => void seen.faults++,
  };
  context.after(async () => {
    stopping.abort();
    await server.stop();
    await work;
    rmSync(folder, { recursive: true });
  });
  const asNode = nodeClient(server, "n1").resource(resourceReferences(platformNames).clusterTrustBundles);
  let work: Promise<void> | undefined;
  const follow = (): void => {
    work = followTrustBundles(
      {
        followed: { source, file, hook: undefined, ...(store && { store }) },
        names: namesFor("platform", { hasUpstreamNames: true }),
        bundles: asNode,
        failureLog: (texts) => new FailureLog({ ...texts, log, monotonic: time }),
        random: () => 0,
        sleep: time.sleep,
        log,
        onContents(_file, { contents, isRepaired }) {
          const pem = contents.toString("utf8");
          if (pem !== seen.changes.at(-1)) seen.changes.push(pem);
          if (isRepaired) seen.repairs++;
        },
        onAnchors: (_file, { anchors, fault }) => void Object.assign(seen, { count: anchors, fault }),
      },
      stopping.signal,
    );
  };
  /** The next look at the bundles is a second after the one before. */
  const soon = (what: string, look: () => boolean) =>
    eventually(what, async () => {
      await time.advance(1000);
      return look();
    });
  const holds = (text: string) => soon("the file's contents", () => readFileSync(file, "utf8") === text);
  return { bundles, asNode, file, folder, follow, soon, holds, seen, time };
}

/** Returns how often the anchors of listed bundles have been read. */
function countReads(bundles: ResourceClient<ClusterTrustBundle>): () => number {
  let reads = 0;
  const list = bundles.list.bind(bundles);
  bundles.list = async (...options) => {
    const counted = await list(...options);
    for (const { spec } of counted.items) {
      const { trustBundle } = spec;
      Object.defineProperty(spec, "trustBundle", { get: () => (reads++, trustBundle) });
    }
    return counted;
  };
  return () => reads;
}

describe("a followed trust bundle", () => {
  it("is written when it appears, and after every change of its anchors", async (context) => {
    const { bundles, follow, holds, seen } = await scene(context, { bundleName: "mine" });
    await bundles.create(bundle("mine", `text before\n${one}`));
    await bundles.create(bundle("other", three));
    follow();
    await holds(one);
    await bundles.patch("mine", { body: { spec: { trustBundle: two + one } } });
    await holds(two + one);
    assert.equal(seen.changes.length, 2);
    await bundles.patch("mine", { body: { metadata: { labels: { a: "b" } } } });
    // Another order is no other trust.
    await bundles.patch("mine", { body: { spec: { trustBundle: one + two } } });
    await bundles.patch("mine", { body: { spec: { trustBundle: three } } });
    await holds(three);
    assert.equal(seen.changes.length, 3);
  });

  it("may be a key store, which another order or a restart does not change, but another password does", async (context) => {
    for (const [type, encode] of [
      ["pkcs12", encodePkcs12TrustStore],
      ["jks", encodeJavaTrustStore],
    ] as const) {
      const certificates = parseCertificatesPem(one + two);
      let password: string | undefined;
      const store = { type, passwordFile: "p", password: () => password ?? assert.fail("there is no password") };
      const { bundles, file, follow, soon, seen, time } = await scene(context, { bundleName: "mine", store });
      const isWritten = (wanted: string) => (): boolean =>
        existsSync(file) && readFileSync(file).equals(encode({ certificates, password: wanted }));
      await bundles.create(bundle("mine", one + two));
      follow();
      await eventually("the fault", () => seen.fault === "there is no password");
      assert.ok(!existsSync(file));
      password = "changeit";
      await soon("the file", isWritten("changeit"));
      assert.equal(statSync(file).mode & 0o777, 0o644);
      const { ino } = statSync(file);
      await bundles.patch("mine", { body: { spec: { trustBundle: two + one } } });
      await time.advance(120_000);
      follow();
      await time.advance(120_000);
      assert.equal(statSync(file).ino, ino);
      password = "another";
      await soon("the other password", isWritten("another"));
      password = undefined;
      await soon("the fault", () => seen.fault === "there is no password");
      assert.ok(isWritten("another")());
      assert.equal(seen.warnings, 0, "nobody is said to have changed the file");
    }
  });

  it("is written at most once a second, however often it changes", async (context) => {
    const { bundles, asNode, file, follow, seen, time } = await scene(context, { bundleName: "mine" });
    await bundles.create(bundle("mine", one));
    const watch = asNode.watch.bind(asNode);
    let events = 0;
    asNode.watch = async function* (...options) {
      for await (const event of watch(...options)) {
        yield event;
        events++;
      }
    };
    follow();
    await eventually("the first contents", () => existsSync(file));
    await bundles.patch("mine", { body: { spec: { trustBundle: two } } });
    await bundles.patch("mine", { body: { spec: { trustBundle: three } } });
    await eventually("both changes", () => events >= 2);
    assert.equal(readFileSync(file, "utf8"), one);
    await time.advance(1000);
    assert.equal(readFileSync(file, "utf8"), three);
    assert.equal(seen.changes.length, 2);
  });

  it("keeps its file when it is deleted, and has no file before it exists", async (context) => {
    const { bundles, file, follow, soon, holds, seen } = await scene(context, { bundleName: "mine" });
    follow();
    await eventually("the look at nothing", () => seen.count === 0);
    assert.ok(!existsSync(file));
    await bundles.create(bundle("mine", one));
    await holds(one);
    await bundles.delete("mine");
    await soon("the deletion", () => seen.count === 0);
    assert.equal(readFileSync(file, "utf8"), one);
  });

  it("takes away what a kill during an earlier write has left beside its file", async (context) => {
    const { bundles, folder, follow, holds } = await scene(context, { bundleName: "mine" });
    mkdirSync(join(folder, "trust"));
    for (const left of ["anchors.pem.0123456789ab.new", "anchors.pem.mine.new"]) {
      writeFileSync(join(folder, "trust", left), "a half");
    }
    await bundles.create(bundle("mine", one));
    follow();
    await holds(one);
    assert.deepEqual(readdirSync(join(folder, "trust")).sort(), ["anchors.pem", "anchors.pem.mine.new"]);
  });

  it("is written again later when a write failed", async (context) => {
    const { bundles, folder, follow, holds, seen, time } = await scene(context, { bundleName: "mine" });
    writeFileSync(join(folder, "trust"), "in the way of the folder");
    await bundles.create(bundle("mine", one));
    follow();
    await eventually("the fault", () => seen.faults === 1);
    assert.match(seen.fault ?? "", /anchors\.pem/);
    await time.advance(60_000);
    assert.equal(seen.faults, 1, "the log has the same fault once");
    rmSync(join(folder, "trust"));
    await time.advance(10_000);
    await holds(one);
    assert.equal(seen.fault, undefined);
  });

  it("is not written where another user could put another folder in the place of its own", async (context) => {
    const { bundles, folder, follow, holds, seen, time } = await scene(context, { bundleName: "mine" });
    chmodSync(folder, 0o777);
    await bundles.create(bundle("mine", one));
    follow();
    await eventually("the fault", () => seen.faults === 1);
    assert.match(
      seen.fault ?? "",
      /can be changed by all users, who could put something else in the place of .*trust;/,
    );
    assert.deepEqual(readdirSync(folder), []);
    chmodSync(folder, 0o700);
    await time.advance(10_000);
    await holds(one);
    assert.equal(seen.fault, undefined);
  });

  it("is a fault and no end of the agent when the server's answer is no bundle, and written after a better one", async (context) => {
    for (const [spoil, fault] of [
      [(item: object) => Reflect.deleteProperty(item, "spec"), /mine has no text in the server's answer/],
      [
        ({ spec }: ClusterTrustBundle) => (spec.trustBundle = one + encodePem("CERTIFICATE", Buffer.from("x"))),
        /mine has an anchor that is no certificate/,
      ],
    ] as const) {
      const { bundles, asNode, file, follow, holds, seen } = await scene(context, { bundleName: "mine" });
      await bundles.create(bundle("mine", one));
      const list = asNode.list.bind(asNode);
      asNode.list = async (...options) => {
        const spoiled = await list(...options);
        spoiled.items.forEach(spoil);
        return spoiled;
      };
      follow();
      await eventually("the fault", () => seen.faults === 1);
      assert.match(seen.fault ?? "", fault);
      assert.ok(!existsSync(file));
      await bundles.patch("mine", { body: { spec: { trustBundle: two } } });
      await holds(two);
      assert.equal(seen.fault, undefined);
    }
  });

  it("is written after an outage of the server, whose end the log says", async (context) => {
    const { bundles, asNode, file, follow, holds, seen } = await scene(context, { bundleName: "mine" });
    await bundles.create(bundle("mine", one));
    const list = asNode.list.bind(asNode);
    asNode.list = async () => {
      asNode.list = list;
      throw new Error("the server is away");
    };
    follow();
    await holds(one);
    assert.deepEqual(
      [seen.warnings, seen.news],
      [1, [`follows the trust bundles for ${file} again`, "wrote the trust bundle"]],
    );
  });

  it("is written again within a minute when somebody removes or changes its file", async (context) => {
    const { bundles, file, follow, soon, holds, seen, time } = await scene(context, { bundleName: "mine" });
    await bundles.create(bundle("mine", one));
    follow();
    await holds(one);
    const { repairs } = seen;
    rmSync(file);
    await time.advance(60_000);
    await holds(one);
    assert.equal(seen.warnings, 1, "that somebody has removed it is said");
    assert.equal(seen.repairs, repairs + 1, "and its hook must run again");
    writeFileSync(file, two);
    await time.advance(60_000);
    await holds(one);
    assert.equal(seen.warnings, 2, "that something else writes it too is said");
    for (let look = 0; look < 5; look++) {
      writeFileSync(file, two);
      await time.advance(61_000);
      assert.equal(readFileSync(file, "utf8"), one);
    }
    assert.equal(seen.warnings, 2, "and said once");
    assert.equal(seen.repairs, repairs + 1, "and its hook does not run each minute");
    await time.advance(61_000);
    assert.deepEqual(seen.news, ["wrote the trust bundle", "only this agent writes its files now"]);
    await bundles.delete("mine");
    await soon("the deletion", () => seen.count === 0);
    await time.advance(180_000);
    assert.equal(seen.warnings, 3, "that there is no bundle is said once");
  });

  it("lets its hook run again when its file was changed, and could be written again only later", async (context) => {
    const { bundles, folder, follow, soon, holds, seen } = await scene(context, { bundleName: "mine" });
    await bundles.create(bundle("mine", one));
    follow();
    await holds(one);
    const { repairs } = seen;
    rmSync(join(folder, "trust"), { recursive: true });
    writeFileSync(join(folder, "trust"), "in the way of the folder");
    await soon("the fault", () => seen.faults === 1);
    rmSync(join(folder, "trust"));
    await holds(one);
    assert.equal(seen.repairs, repairs + 1);
  });

  it("lets its hook run when writing its file failed only after the file was there", async (context) => {
    const { bundles, file, folder, follow, soon, seen } = await scene(context, { bundleName: "mine" });
    // It looks like what a kill has left, and cannot be removed as a file.
    mkdirSync(join(folder, "trust", "anchors.pem.0123456789ab.new"), { recursive: true });
    await bundles.create(bundle("mine", one));
    follow();
    await eventually("the fault", () => seen.faults === 1);
    assert.equal(readFileSync(file, "utf8"), one);
    await soon("the contents", () => seen.changes.length > 0);
    assert.deepEqual(seen.changes, [one]);
  });

  it("is read again only when it or its file has changed", async (context) => {
    const { bundles, asNode, file, follow, holds, time } = await scene(context, { bundleName: "mine" });
    const reads = countReads(asNode);
    await bundles.create(bundle("mine", one));
    follow();
    await holds(one);
    assert.equal(reads(), 1);
    await time.advance(600_000);
    assert.equal(reads(), 1);
    writeFileSync(file, two);
    await time.advance(60_000);
    assert.equal(readFileSync(file, "utf8"), one);
    assert.equal(reads(), 2);
    await bundles.patch("mine", { body: { spec: { trustBundle: three } } });
    await holds(three);
    writeFileSync(file, one);
    await time.advance(60_000);
    assert.equal(readFileSync(file, "utf8"), three);
  });

  it("is read once while its file cannot be written", async (context) => {
    const { bundles, asNode, folder, follow, holds, seen, time } = await scene(context, { bundleName: "mine" });
    const reads = countReads(asNode);
    writeFileSync(join(folder, "trust"), "in the way of the folder");
    await bundles.create(bundle("mine", one));
    follow();
    await eventually("the fault", () => seen.faults === 1);
    await time.advance(600_000);
    assert.equal(reads(), 1);
    rmSync(join(folder, "trust"));
    await time.advance(10_000);
    await holds(one);
    assert.equal(reads(), 1);
  });

  it("is written once the pipe in the place of its file is gone, and does not wait for the pipe's writer", async (context) => {
    const { bundles, file, folder, follow, holds, seen, time } = await scene(context, { bundleName: "mine" });
    mkdirSync(join(folder, "trust"));
    execFileSync("mkfifo", [file]);
    await bundles.create(bundle("mine", one));
    follow();
    await eventually("the fault", () => seen.faults === 1);
    rmSync(file);
    await time.advance(10_000);
    await holds(one);
  });

  it("of a signer has the anchors of all of the signer's bundles, each once", async (context) => {
    const signerName = "example.com/signer";
    const { bundles, follow, holds } = await scene(context, { signerName });
    await bundles.create(bundle("example.com:signer:b", two + one, signerName));
    await bundles.create(bundle("unrelated", three));
    follow();
    await holds(two + one);
    await bundles.create(bundle("example.com:signer:a", three, signerName));
    await holds(three + two + one);
  });

  it("of one of the server's own signers is found by either spelling of the signer's name", async (context) => {
    const { bundles, follow, holds } = await scene(context, { signerName: "kubernetes.io/kubelet-serving" });
    await bundles.create(bundle("platform.io:nodeagent-serving:mine", one, "platform.io/nodeagent-serving"));
    follow();
    await holds(one);
  });
});

describe("a file of trust bundles has none of the anchors of others that a server sends too", () => {
  const signerName = "example.com/signer";
  for (const source of [{ bundleName: "example.com:signer:a" }, { signerName }]) {
    it(`when it follows ${JSON.stringify(source)}`, async (context) => {
      const { bundles, asNode, follow, holds, soon, seen } = await scene(context, source);
      const [list, watch] = [asNode.list.bind(asNode), asNode.watch.bind(asNode)];
      asNode.list = () => list();
      asNode.watch = ({ fieldSelector: _ignored, ...options }, signal) => watch(options, signal);
      await bundles.create(bundle("unrelated", three));
      follow();
      await soon("the first look", () => seen.count === 0);
      await bundles.create(bundle("example.com:signer:a", one, signerName));
      await holds(one);
      await bundles.create(bundle("example.com:other:a", two, "example.com/other"));
      await bundles.patch("example.com:signer:a", { body: { spec: { trustBundle: one + three } } });
      await holds(one + three);
    });
  }
});

test("anchors are joined in the order of the bundles' names, and contain only certificates", () => {
  const joined = joinedAnchors([
    bundle("b", `${two}${one}`),
    bundle("a", `words\n${one}${encodePem("X", Buffer.from("x"))}`),
  ]);
  assert.deepEqual(joined, { pem: one + two, count: 2 });
  assert.deepEqual(joinedAnchors([]), { pem: "", count: 0 });
});
