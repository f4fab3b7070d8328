import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { stringify } from "yaml";
import type { ClusterTrustBundle } from "../../../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import type { Event } from "../../../../src/features/core/events/event-schema.ts";
import { UsageError } from "../../../../src/machinery/command-line/settings/flag.ts";
import type { Certificate } from "../../../../src/pki/certificates/certificate.ts";
import { verifyChain } from "../../../../src/pki/certificates/certificate-chain.ts";
import type { CertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { parseCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import {
  CertificateFolder,
  CertificateScene,
  conditionOf,
  intermediateOf,
  newAuthority,
  sceneOf,
  until,
} from "../certificate-loop-scene.ts";
import type { Wish } from "../certificate-loop-scene.ts";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { SealingKey } from "../../../../src/machinery/keys/sealing-key.ts";
import { dataDirectoryFiles, writeEntry } from "../../../../src/server/data-directory/data-directory-files.ts";
import {
  abortRotation,
  prepareAuthority,
  retireAuthority,
  switchAuthority,
} from "../../../../src/features/certificates/authorities/rotate-authority.ts";
import { eventually } from "../../../end-to-end/eventually.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const example = (name: string): string =>
  readFileSync(resolve(import.meta.dirname, "../../../../examples", name), "utf8");

const services = "example.com/services";
const serving: Wish = {
  name: "web",
  signerName: services,
  commonName: "shop.web.services.example.com",
  organizations: ["Example"],
  names: { dnsNames: ["shop.web.services.example.com"] },
  usages: ["digital signature", "server auth"],
};

describe("a signer of --signer-config", () => {
  const folder = new CertificateFolder();
  let server: TestServer | undefined;
  let count = 0;
  after(() => folder.remove());
  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  const fileOf = (contents: string, name = `signers-${count++}.yaml`): string => {
    writeFileSync(folder.file(name), contents);
    return folder.file(name);
  };
  const configurationOf = (...signers: readonly object[]): string =>
    stringify({ apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration", signers });
  const withFiles = (
    name: string,
    { commonName, ...more }: { readonly commonName: string; readonly [field: string]: unknown },
  ) => {
    const authority = newAuthority(commonName);
    const certificateFile = folder.write(`${commonName}.crt`, authority.certificate);
    const keyFile = folder.writeKey(`${commonName}.key`, authority);
    return { name, certificateAuthority: { certificateFile, keyFile }, dnsNames: ["*.example.com"], ...more };
  };
  const start = async (settings: Readonly<Record<string, unknown>>, more: object = {}): Promise<CertificateScene> => {
    server = await startTestServer({ settings, ...more });
    return new CertificateScene(server.client);
  };
  const bundleOf = async (scene: CertificateScene, signerName: string): Promise<Certificate[]> => {
    const bundle = await until<ClusterTrustBundle>(
      scene.client,
      scene.references.clusterTrustBundles,
      ({ spec }) => spec.signerName === signerName,
    );
    return parseCertificatesPem(bundle.spec.trustBundle);
  };

  it("issues certificates that its published bundle verifies, with its generated CA", async () => {
    const scene = await start({ "signer-config": fileOf(example("signers.yaml")) });
    const [leaf, ...chain] = await scene.obtain(serving);
    assert.ok(leaf);
    const roots = await bundleOf(scene, services);
    assert.deepEqual(
      roots.map(({ subject }) => subject.commonName),
      ["Example services CA"],
    );
    const answer = verifyChain({ leaf, intermediates: chain, roots, now: Date.now(), requiredUsage: "serverAuth" });
    assert.equal(answer.isValid, true);
    assert.match(folder.opensslVerify(roots, [leaf, ...chain], "sslserver"), /OK/);
    // The default lifetime of the file: a week, and not what --cluster-signing-duration says.
    const days = Math.round((leaf.notAfter - Date.now()) / 86_400_000);
    assert.equal(days, 7);

    const made = join(server?.dataDirectory ?? "", "signers");
    assert.deepEqual(
      readdirSync(made).filter((file) => file.includes("services")),
      ["example.com:services.crt", "example.com:services.key"],
    );
    assert.equal(statSync(join(made, "example.com:services.key")).mode & 0o777, 0o600);
    assert.equal(statSync(made).mode & 0o777, 0o700);
  });

  it("generates its CA once", async () => {
    const dataDirectory = folder.file("data-once");
    const settings = { "signer-config": fileOf(example("signers.yaml")) };
    const [before] = await bundleOf(await start(settings, { dataDirectory }), services);
    await server?.stop();
    const [again] = await bundleOf(await start(settings, { dataDirectory }), services);
    assert.deepEqual(before?.der, again?.der);
  });

  it("has its CA replaced by command, across restarts, back again and in a backup, while certificates of both are valid", async () => {
    const dataDirectory = folder.file("data-rotated");
    const settings = { "signer-config": fileOf(example("signers.yaml")) };
    const more = { dataDirectory, storage: "lmdb" } as const;
    let scene = await start(settings, more);
    const restart = async (): Promise<void> => {
      await server?.stop();
      scene = await start(settings, more);
    };
    const keys = () => {
      assert.ok(server);
      return { store: server.store, dataDirectory, names: platformNames, sealingKey: SealingKey.open(dataDirectory) };
    };
    const rotation = { name: services, clock: systemClock };
    /** The bundle is looked at every few seconds, and at once when it was deleted. */
    const bundle = async (): Promise<Certificate[]> => {
      await scene.client.resource(scene.references.clusterTrustBundles).delete("example.com:services:ca");
      return bundleOf(scene, services);
    };
    const verify = async (chain: readonly Certificate[]): Promise<void> =>
      assert.match(folder.opensslVerify(await bundle(), chain, "sslserver"), /OK/);
    const first = await scene.obtain({ ...serving, name: "first" });
    await bundleOf(scene, services);
    assert.equal(first[0]?.issuer.commonName, "Example services CA");

    await prepareAuthority(keys(), rotation);
    await restart();
    await eventually("both CAs", async () => (await bundle()).length === 2);
    await switchAuthority(keys(), { ...rotation, isForced: true });
    await restart();
    const second = await scene.obtain({ ...serving, name: "second" });
    assert.match(second[0]?.issuer.commonName ?? "", /^Example services CA-[0-9a-f]{8}$/);
    await verify(first);
    await verify(second);
    assert.equal(await abortRotation(keys(), rotation), "switched");
    const third = await eventually("the first CA signs again", async () => {
      const issued = await scene.obtain({ ...serving, name: `third-${count++}` });
      return issued[0]?.issuer.commonName === "Example services CA" && issued;
    });
    await verify(third);
    await verify(second);
    await assert.rejects(retireAuthority(keys(), { ...rotation, isForced: false }), /1 certificate of the old CA/);
    await retireAuthority(keys(), { ...rotation, isForced: true });
    await eventually("one CA", async () => (await bundle()).length === 1);

    assert.deepEqual(
      dataDirectoryFiles(dataDirectory).keys.filter((file) => file.startsWith("signers/")),
      ["signers/example.com:services.key", "signers/example.com:workloads.key"],
    );
    writeEntry(folder.file("restored"), { file: "signers/example.com:services.key", text: "a key" });
    assert.equal(readFileSync(folder.file("restored/signers/example.com:services.key"), "utf8"), "a key");
  });

  it("is approved by the example's policy, and only for the names that the rule allows", async () => {
    await start({
      "signer-config": fileOf(example("signers.yaml")),
      "approval-policy": fileOf(example("approve-services.yaml")),
    });
    assert.ok(server);
    const admin = new CertificateScene(server.client);
    await admin.client.resource(admin.references.clusterRoles).create({
      apiVersion: `${admin.names.group("rbac.authorization")}/v1`,
      kind: "ClusterRole",
      metadata: { name: "requester" },
      rules: [
        {
          apiGroups: [admin.names.group("certificates")],
          resources: ["certificatesigningrequests"],
          verbs: ["create"],
        },
      ],
    });
    await admin.client.request(`/apis/${admin.names.group("rbac.authorization")}/v1/clusterrolebindings`, {
      method: "POST",
      body: {
        apiVersion: `${admin.names.group("rbac.authorization")}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name: "requester" },
        roleRef: { apiGroup: admin.names.group("rbac.authorization"), kind: "ClusterRole", name: "requester" },
        subjects: [{ apiGroup: admin.names.group("rbac.authorization"), kind: "Group", name: "web-team" }],
      },
    });
    const team = sceneOf(server, { name: "ann", groups: ["web-team"] });
    await team.request(serving);
    assert.equal((await admin.issued("web")).length, 1);
    const dnsNames = ["db.data.services.example.com"];
    await team.request({ ...serving, name: "foreign", names: { dnsNames } });
    const denied = await admin.settled("foreign", (request) => conditionOf(request, "Denied") !== undefined);
    assert.match(conditionOf(denied, "Denied")?.message ?? "", /dnsNames: "db\.data\.services\.example\.com"/);
  });

  it("fails requests that break its rules, and names each field", async () => {
    const scene = await start({ "signer-config": fileOf(example("signers.yaml")) });
    const hostile: readonly [string, Partial<Wish>, RegExp][] = [
      ["foreign-name", { names: { dnsNames: ["shop.example.org"] } }, /dnsNames: "shop\.example\.org" is not allowed/],
      ["deep-name", { names: { dnsNames: ["a.b.c.services.example.com"] } }, /dnsNames: /],
      ["wildcard", { names: { dnsNames: ["*.services.example.com"] } }, /dnsNames: .*wildcard/],
      ["nul", { names: { dnsNames: ["evil.org\0.services.example.com"] } }, /dnsNames: .*is not a DNS name/],
      ["foreign-address", { names: { ipAddresses: ["10.21.0.1"] } }, /ipRanges: "10\.21\.0\.1" is not allowed/],
      ["uri", { names: { uris: ["spiffe://example.com/ns/a/sa/b"] } }, /uris: /],
      ["mail", { names: { emailAddresses: ["a@example.com"] } }, /emailAddresses: /],
      ["other-common-name", { commonName: "root" }, /subject\.commonNames: "root" is not allowed/],
      ["masters", { organizations: ["system:masters"] }, /subject\.organizations: "system:masters" is not allowed/],
      ["unnamed-organization", { organizations: [""] }, /subject\.organizations: "" is not allowed/],
      ["client", { usages: ["digital signature", "client auth"] }, /usages: "client auth" is not allowed/],
      ["nobody", { commonName: "", organizations: [], names: {} }, /^subject: is empty, and there is no other name: /],
      ["every-purpose", { usages: ["digital signature"] }, /usages: must contain an extended key usage/],
      ["curve", { privateKey: generatePrivateKey("ECDSA P-521") }, /keyTypes: "ECDSA P-521" is not allowed/],
      ["rsa", { privateKey: generatePrivateKey("RSA 2048") }, /keyTypes: "RSA 2048" is not allowed/],
    ];
    for (const [name, wish, wanted] of hostile) {
      await scene.request({ ...serving, ...wish, name });
      assert.match((await scene.failure(name)).message, wanted, name);
    }
  });

  it("signs an organization without a name where it allows that one, or every organization", async () => {
    const any = { ...withFiles("example.com/any", { commonName: "any" }), subject: { organizations: ["*"] } };
    const none = { ...withFiles("example.com/none", { commonName: "none" }), subject: { organizations: [""] } };
    const scene = await start({ "signer-config": fileOf(configurationOf(any, none)) });
    const wish = { ...serving, commonName: "", names: { dnsNames: ["a.example.com"] } };
    for (const signerName of [any.name, none.name]) {
      await scene.obtain({ ...wish, name: signerName.slice(-3), signerName, organizations: [""] });
    }
    await scene.request({ ...wish, name: "named", signerName: none.name, organizations: ["", "Example"] });
    assert.match((await scene.failure("named")).message, /subject\.organizations: "Example" is not allowed/);
  });

  it("follows its file: a new signer signs and is published, and a broken file leaves the old ones", async () => {
    const first = withFiles("example.com/first", { commonName: "first" });
    const file = fileOf(configurationOf(first), "followed.yaml");
    const scene = await start({ "signer-config": file });
    const wish = { ...serving, organizations: [], commonName: "", names: { dnsNames: ["a.example.com"] } };
    const obtain = (name: string, signerName: string): ReturnType<typeof scene.obtain> => {
      server?.readFilesAgain();
      return scene.obtain({ ...wish, name, signerName });
    };
    await obtain("before", "example.com/first");

    fileOf(configurationOf(first, withFiles("example.com/second", { commonName: "second" })), "followed.yaml");
    const [leaf] = await obtain("after", "example.com/second");
    const roots = await bundleOf(scene, "example.com/second");
    assert.deepEqual(leaf?.rawIssuer, roots[0]?.rawSubject);

    fileOf("signers: [", "followed.yaml");
    await obtain("still", "example.com/second");
    rmSync(file);
    symlinkSync("/dev/zero", file);
    await obtain("endless", "example.com/first");
    rmSync(file);
    await obtain("yet", "example.com/first");
  });

  it("is listed in the event on a request for a signer that does not exist", async () => {
    const scene = await start({});
    await scene.request({ ...serving, name: "nobody", signerName: "platform.io/services" });
    const event = await until<Event>(
      scene.client,
      scene.references.events,
      ({ involvedObject }) => involvedObject.name === "nobody",
    );
    assert.equal(event.reason, "NoSigner");
  });

  const refused = async (settings: Readonly<Record<string, unknown>>, wanted: RegExp): Promise<void> => {
    await assert.rejects(
      start(settings),
      (error) => error instanceof UsageError && wanted.test(error.message),
      String(wanted),
    );
  };

  it("is refused at the start with the path of the fault", async () => {
    const file = fileOf(configurationOf(withFiles("example.com/a", { commonName: "a", keyTypes: ["DSA"] })));
    await refused({ "signer-config": file }, /^--signer-config: .*signers\[0\]\.keyTypes\[0\]: must be one of/);
    await refused({ "signer-config": folder.file("absent.yaml") }, /^--signer-config: cannot read/);
    await refused({ "signer-config": folder.path }, /^--signer-config: .* is a folder; name a file/);
    await refused(
      { "signer-config": fileOf(" ".repeat(1024 * 1024 + 1)) },
      /^--signer-config: .* is larger than 1 MiB/,
    );
    const missing = { certificateFile: "absent.crt", keyFile: "absent.key" };
    await refused(
      {
        "signer-config": fileOf(
          configurationOf({ name: "example.com/a", certificateAuthority: missing, dnsNames: ["a.b"] }),
        ),
      },
      /signers\[0\]\.certificateAuthority\.certificateFile: cannot read/,
    );
    const [one, other] = [
      withFiles("example.com/a", { commonName: "one" }),
      withFiles("example.com/a", { commonName: "other" }),
    ];
    const mixed = { ...one.certificateAuthority, keyFile: other.certificateAuthority.keyFile };
    await refused(
      { "signer-config": fileOf(configurationOf({ ...one, certificateAuthority: mixed })) },
      /signers\[0\]\.certificateAuthority\.certificateFile: .*one\.crt: /,
    );
  });

  it("must not use a CA that the API server trusts for client certificates", async () => {
    const usages = ["digital signature", "client auth"];
    const signer = withFiles("example.com/clients", { commonName: "clients", usages });
    const { certificateFile, keyFile } = signer.certificateAuthority;
    const file = fileOf(configurationOf(signer));
    const wanted = /signers\[0\]\.certificateAuthority: the API server trusts this CA for client certificates/;
    await refused({ "signer-config": file, "client-ca-file": certificateFile }, wanted);
    await refused({ "signer-config": file, "requestheader-client-ca-file": certificateFile }, wanted);
    await refused(
      { "signer-config": file, "cluster-signing-cert-file": certificateFile, "cluster-signing-key-file": keyFile },
      wanted,
    );
  });

  it("does not sign while the API server trusts its CA for client certificates, which may begin later", async () => {
    const signer = withFiles("example.com/late", { commonName: "late", usages: ["client auth"] });
    const [late, other] = [
      readFileSync(signer.certificateAuthority.certificateFile),
      newAuthority("other").certificate,
    ];
    const clients = folder.write("clients.crt", other);
    const scene = await start({ "signer-config": fileOf(configurationOf(signer)), "client-ca-file": clients });
    const wish = { signerName: signer.name, commonName: "", names: { dnsNames: ["a.example.com"] } };
    const obtain = (name: string): ReturnType<typeof scene.obtain> =>
      scene.obtain({ ...wish, name, usages: ["client auth"] });
    await obtain("before");

    writeFileSync(clients, late);
    server?.readFilesAgain();
    await scene.request({ ...wish, name: "between", usages: ["client auth"] });
    await scene.approve("between");
    // What was approved later is issued: by then the loop has passed the request.
    const user = { signerName: signerNames.apiserverClient(scene.names), commonName: "alice" };
    await scene.obtain({ ...user, name: "user" });
    assert.equal((await scene.requests.get("between")).status.certificate, undefined);

    folder.write("clients.crt", other);
    server?.readFilesAgain();
    await obtain("after");
  });

  it("names its own URL of revocation information in its certificates, or none, if the server has such a URL", async () => {
    const signers = { usual: {}, own: { revocationURL: "http://mirror.test/" }, none: { revocationURL: "" } };
    const file = fileOf(
      configurationOf(
        ...Object.entries(signers).map(([commonName, more]) =>
          withFiles(`example.com/${commonName}`, { commonName, ...more }),
        ),
      ),
    );
    const addresses = async (scene: CertificateScene): Promise<string[]> => {
      const wish = { ...serving, organizations: [], commonName: "", names: { dnsNames: ["a.example.com"] } };
      const issued = Object.keys(signers).map(async (name) => {
        const [leaf] = await scene.obtain({ ...wish, name, signerName: `example.com/${name}` });
        const found = leaf?.der.toString("latin1").match(/(http:\/\/[a-z.]+)?\/pki\/[a-z]+/g) ?? [];
        return found.join(" ");
      });
      return Promise.all(issued);
    };
    const below = (base: string): string => ["crl", "ocsp", "ca"].map((path) => `${base}/pki/${path}`).join(" ");
    const urls = { "revocation-url": "http://pki.test", "revocation-http-address": "127.0.0.1:0" };
    assert.deepEqual(await addresses(await start({ "signer-config": file, ...urls })), [
      below("http://pki.test"),
      below("http://mirror.test"),
      "",
    ]);
    await server?.stop();
    assert.deepEqual(await addresses(await start({ "signer-config": file })), ["", "", ""]);
  });

  it("must not sign client certificates with an intermediate CA that the API server trusts, itself or through its root", async () => {
    const old = newAuthority("root");
    // The certificate with which a root hands its name over to another key, as RFC 4210 4.4 has it.
    const root = intermediateOf(old, "root");
    const intermediate = intermediateOf(root, "intermediate");
    const keyFile = folder.writeKey("intermediate.key", intermediate);
    const signerWith = (...chain: readonly CertificateAuthority[]): string => {
      const certificates = chain.map(({ certificate }) => certificate);
      const certificateFile = folder.write(`intermediate-${count++}.crt`, ...certificates);
      return fileOf(
        configurationOf({
          name: "example.com/clients",
          certificateAuthority: { certificateFile, keyFile },
          dnsNames: ["*.example.com"],
          usages: ["client auth"],
        }),
      );
    };
    const wanted = /signers\[0\]\.certificateAuthority: the API server trusts this CA/;
    await refused({ "signer-config": signerWith(intermediate) }, wanted);
    const whole = signerWith(intermediate, root);
    for (const { certificate } of [old, root, intermediate]) {
      const clients = folder.write("trusted-clients.crt", certificate);
      await refused({ "signer-config": whole, "client-ca-file": clients }, wanted);
    }
    await start({
      "signer-config": whole,
      "client-ca-file": folder.write("other.crt", newAuthority("other").certificate),
    });
  });

  it("does not sign the API server's names with a CA that the clients of the server trust", async () => {
    const dataDirectory = folder.file("data-server-ca");
    await (await startTestServer({ dataDirectory })).stop();
    const signer = {
      name: "example.com/server",
      certificateAuthority: { certificateFile: join(dataDirectory, "ca.crt"), keyFile: join(dataDirectory, "ca.key") },
      subject: { commonNames: ["*"] },
      ipRanges: ["127.0.0.0/8"],
    };
    const scene = await start({ "signer-config": fileOf(configurationOf(signer)) }, { dataDirectory });
    const wish = { ...serving, organizations: [], commonName: "x", signerName: signer.name };
    await scene.request({ ...wish, name: "server", names: { ipAddresses: ["127.0.0.1"] } });
    // curl, OpenSSL and Python take the common name for one of the server's where there is no DNS name.
    await scene.request({ ...wish, name: "without-names", commonName: "localhost", names: {} });
    for (const name of ["server", "without-names"]) {
      assert.match((await scene.failure(name)).message, /is a name of the API server/, name);
    }
  });

  it("does not write its key through a link, nor use one that others can read", async () => {
    const dataDirectory = folder.file("data-links");
    const elsewhere = folder.file("elsewhere");
    mkdirSync(dataDirectory, { mode: 0o700 });
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(dataDirectory, "signers"));
    const settings = { "signer-config": fileOf(example("signers.yaml")) };
    const scene = await start(settings, { dataDirectory });
    await scene.request(serving);
    await scene.approve("web");
    // The server's own signers continue.
    await scene.obtain({ name: "alice", signerName: signerNames.apiserverClient(scene.names), commonName: "alice" });
    assert.deepEqual(readdirSync(elsewhere), []);
    await server?.stop();

    rmSync(join(dataDirectory, "signers"));
    await bundleOf(await start(settings, { dataDirectory }), services);
    await server?.stop();
    server = undefined;
    const key = join(dataDirectory, "signers", "example.com:services.key");
    assert.ok(existsSync(key));
    rmSync(key);
    symlinkSync("/etc/passwd", key);
    await assert.rejects(
      start(settings, { dataDirectory }),
      (error) =>
        error instanceof UsageError && /signers\[0\]\.certificateAuthority\.generate: .*key/.test(error.message),
    );
  });
});
