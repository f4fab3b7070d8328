import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect, createServer } from "node:tls";
import { promisify } from "node:util";
import pino from "pino";
import { stringify } from "yaml";
import type { ClusterTrustBundle } from "../../src/features/certificates/bundles/cluster-trust-bundles.ts";
import { signerNames } from "../../src/features/certificates/signer-names.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { readKubeconfig } from "../../src/machinery/client/kubeconfig/kubeconfig.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { loadCertificateAuthority, signCertificate } from "../../src/pki/certificates/certificate-authority.ts";
import type { Certificate } from "../../src/pki/certificates/certificate.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../../src/pki/certificates/certificates-pem.ts";
import { CertificateFolder, CertificateScene, until } from "../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { userOf } from "../user-of.ts";

const folder = new CertificateFolder();
const file = (name: string): string => folder.file(name);
const openssl = (...args: readonly string[]): string =>
  execFileSync("openssl", args, { encoding: "utf8", cwd: folder.path, stdio: ["ignore", "pipe", "pipe"] });
const read = (name: string): string => readFileSync(file(name), "utf8");
const write = (name: string, ...parts: readonly string[]): string => {
  writeFileSync(file(name), parts.join(""), { mode: 0o600 });
  return file(name);
};

const root = "/CN=Example offline root";
const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const;

/** As docs/operations.md says it: on the machine with the root, by openssl alone. */
function signWithRoot(request: string, to: string, extensions: string): void {
  write("extensions.cnf", extensions);
  openssl(
    ..."x509 -req -days 30 -CA root.crt -CAkey root.key -extfile extensions.cnf".split(" "),
    "-in",
    request,
    "-out",
    to,
  );
}
/** The same intermediate with a validity that is over: openssl signs none. */
function ended(intermediate: string): string {
  const [certificate] = parseCertificatesPem(read(intermediate));
  assert.ok(certificate);
  const { subject, publicKey } = certificate;
  const [notAfter, notBefore] = [Date.now() - 3_600_000, Date.now() - 7_200_000];
  const der = signCertificate(
    {
      ...{ subject, publicKey, notBefore, notAfter, isCA: true, maxPathLength: 0, keyUsages: ["certSign", "crlSign"] },
      ...{ extendedKeyUsages: [], subjectAltNames: noSubjectAltNames },
    },
    loadCertificateAuthority({ certificate: read("root.crt"), privateKey: read("root.key") }),
  );
  return encodePem("CERTIFICATE", der);
}
const ofIntermediate =
  "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n";

before(() => {
  const ofRoot = ["basicConstraints=critical,CA:true,pathlen:1", "keyUsage=critical,keyCertSign,cRLSign"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "root.key",
    "-out",
    "root.crt",
    "-days",
    "3650",
    "-subj",
    root,
    "-addext",
    ofRoot[0] ?? "",
    "-addext",
    ofRoot[1] ?? "",
  );
  for (const name of ["online", "services"]) {
    openssl("req", "-new", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=Example ${name}`);
    signWithRoot(`${name}.csr`, `${name}.crt`, ofIntermediate);
    write(`${name}.pem`, read(`${name}.crt`), read("root.crt"));
  }
  openssl("req", "-new", ...key, "-keyout", "serving.key", "-out", "serving.csr", "-subj", "/CN=signet");
  write("serving.cnf", "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n");
  const sign =
    "x509 -req -in serving.csr -CA services.crt -CAkey services.key -days 7 -extfile serving.cnf -out serving.crt";
  openssl(...sign.split(" "));
  write("serving.pem", read("serving.crt"), read("services.crt"));
  const signer = {
    name: "example.com/services",
    certificateAuthority: { certificateFile: "services.pem", keyFile: "services.key" },
    dnsNames: ["*.example.com"],
  };
  write(
    "signers.yaml",
    stringify({ apiVersion: "signet.platform.io/v1", kind: "SignerConfiguration", signers: [signer] }),
  );
});
after(() => folder.remove());

const errors: { readonly setting?: string; readonly reason?: string }[] = [];
const log = pino({ level: "error" }, { write: (line) => void errors.push(JSON.parse(line) as object) });
const settings = () => ({
  "cluster-signing-cert-file": file("online.pem"),
  "cluster-signing-key-file": file("online.key"),
  "signer-config": file("signers.yaml"),
  "tls-cert-file": file("serving.pem"),
  "tls-private-key-file": file("serving.key"),
});

describe("a server with an online intermediate of an offline root", () => {
  let server: TestServer;
  /** Knows nothing but the root. */
  let other: TestServer;
  let scene: CertificateScene;
  before(async () => {
    server = await startTestServer({ settings: settings(), log });
    other = await startTestServer({ settings: { "client-ca-file": file("root.crt"), controllers: "false" } });
    scene = new CertificateScene(server.client);
  });
  after(() => Promise.all([server.stop(), other.stop()]));

  const nodeKey = generatePrivateKey("ECDSA P-256");
  const obtainForNode = (name: string): Promise<Certificate[]> =>
    scene.obtain({
      ...{ name, signerName: signerNames.apiserverClientNodeAgent(names), privateKey: nodeKey },
      ...{ commonName: "system:node:n1", organizations: ["system:nodes"] },
    });
  const pemOf = (certificates: readonly Certificate[]): string =>
    certificates.map(({ der }) => encodePem("CERTIFICATE", der)).join("");
  const subjects = (certificates: readonly Certificate[]): string =>
    certificates.map(({ subject }) => subject.commonName).join(" < ");
  /** Whom a server sees in a client that shows these certificates in the handshake. */
  const userAt = async ({ url, caCertificates }: TestServer, certificates: readonly Certificate[]): Promise<string> => {
    const clientCertificate = { certificate: pemOf(certificates), key: encodePrivateKeyPem(nodeKey) };
    const trusted = server.url === url ? read("root.crt") : caCertificates;
    const client = new ApiClient(httpsTransport({ server: url, caCertificates: trusted, clientCertificate }));
    try {
      return (await userOf(client)).username;
    } catch (error) {
      return error instanceof Error && "code" in error ? String(error.code) : String(error);
    } finally {
      client.close();
    }
  };
  const bundleOf = async (signerName: string): Promise<string> => {
    const isOfSigner = ({ spec }: ClusterTrustBundle): boolean => spec.signerName === signerName;
    return (await until(server.client, scene.references.clusterTrustBundles, isOfSigner)).spec.trustBundle;
  };
  let issued: Certificate[] = [];

  it("delivers the intermediate with each certificate, publishes only the root, and needs no root key", async () => {
    issued = await obtainForNode("node");
    assert.equal(subjects(issued), "system:node:n1 < Example online");
    const roots = await bundleOf(signerNames.apiserverClientNodeAgent(names));
    assert.equal(roots.trim(), read("root.crt").trim());
    write("node.pem", pemOf(issued.slice(0, 1)));
    write("node-chain.pem", pemOf(issued.slice(1)));
    const verify = "verify -x509_strict -purpose sslclient -CAfile root.crt -untrusted node-chain.pem node.pem";
    assert.match(openssl(...verify.split(" ")), /OK/);
  });

  it("is trusted for its clients by a server that knows only the root, when they show the chain", async () => {
    assert.equal(await userAt(server, issued), "system:node:n1");
    assert.equal(await userAt(server, issued.slice(0, 1)), "system:node:n1");
    assert.equal(await userAt(other, issued), "system:node:n1");
    assert.equal(await userAt(other, issued.slice(0, 1)), "401");
  });

  it("certifies a service that clients of Node.js, Go and openssl trust with only the root", async () => {
    const serviceKey = generatePrivateKey("ECDSA P-256");
    const service = await scene.obtain({
      ...{ name: "web", signerName: "example.com/services", commonName: "web.example.com", privateKey: serviceKey },
      ...{ names: { dnsNames: ["web.example.com"] }, usages: ["digital signature", "server auth"] },
    });
    assert.equal(subjects(service), "web.example.com < Example services");
    const roots = await bundleOf("example.com/services");
    assert.equal(roots.trim(), read("root.crt").trim());
    const listener = createServer({ cert: pemOf(service), key: encodePrivateKeyPem(serviceKey) }, (socket) =>
      socket.end(),
    );
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const client = connect({ host: "127.0.0.1", port, ca: roots, servername: "web.example.com" });
    await once(client, "secureConnect");
    assert.equal(client.authorized, true);
    client.destroy();
    listener.close();
    write("web.pem", pemOf(service));
    const verify =
      "verify -x509_strict -purpose sslserver -verify_hostname web.example.com -CAfile root.crt -untrusted web.pem web.pem";
    assert.match(openssl(...verify.split(" ")), /OK/);
  });

  it("serves its own chain, which openssl and its own kubeconfig verify", async () => {
    const { port } = new URL(server.url);
    const connect = `s_client -connect 127.0.0.1:${port} -CAfile root.crt`;
    const asked = promisify(execFile)(
      "openssl",
      `${connect} -verify_ip 127.0.0.1 -verify_return_error -brief`.split(" "),
      { cwd: folder.path, timeout: 600_000 },
    );
    asked.child.stdin?.end();
    const shown = await asked;
    assert.match(shown.stderr, /Verification: OK/);
    const { transport } = readKubeconfig({ file: server.kubeconfigFile });
    const client = new ApiClient(httpsTransport({ ...transport, server: server.url }));
    try {
      await client.request("/api/v1/namespaces/default");
    } finally {
      client.close();
    }
  });

  it("continues with a renewed intermediate, of the same key or of another: the bundle and the clients stay", async () => {
    const before = await bundleOf(signerNames.apiserverClientNodeAgent(names));
    signWithRoot("online.csr", "online.crt", ofIntermediate);
    write("online.pem", read("online.crt"), read("root.crt"));
    server.readFilesAgain();
    const renewed = await obtainForNode("renewed");
    assert.equal(pemOf(renewed.slice(1)).trim(), read("online.crt").trim());

    openssl("req", "-new", ...key, "-keyout", "next.key", "-out", "next.csr", "-subj", "/CN=Example next");
    signWithRoot("next.csr", "next.crt", ofIntermediate);
    write("ended.crt", ended("next.crt"));
    write("online.pem", read("next.crt"), read("root.crt"));
    write("online.key", read("next.key"));
    server.readFilesAgain();
    const next = await obtainForNode("next");
    assert.equal(subjects(next), "system:node:n1 < Example next");
    for (const certificates of [issued, renewed, next]) {
      assert.equal(await userAt(server, certificates.slice(0, 1)), "system:node:n1");
      assert.equal(await userAt(other, certificates), "system:node:n1");
    }
    assert.equal(await bundleOf(signerNames.apiserverClientNodeAgent(names)), before);
  });

  it("keeps the signing intermediate when its file is invalid, and logs what to do", async () => {
    const good = read("online.pem");
    const [intermediate] = issued.slice(1);
    assert.ok(intermediate);
    const wrong = [
      [
        [read("root.crt"), read("next.crt")],
        /online\.pem: the private key belongs to certificate 2 \(CN=Example next\): put/,
      ],
      [[read("serving.crt"), read("root.crt")], /online\.pem: the CA's private key does not belong to its certificate/],
      [[read("ended.crt"), read("root.crt")], /online\.pem: certificate 1 \(CN=Example next\) ended at .*: renew it/],
    ] as const;
    for (const [parts, reason] of wrong) {
      errors.splice(0);
      write("online.pem", ...parts);
      server.readFilesAgain();
      assert.match(errors.map(({ reason: said }) => said).join(), reason);
    }
    write("online.pem", good);
    server.readFilesAgain();
    assert.equal(subjects(await obtainForNode("after")), "system:node:n1 < Example next");
  });
});

describe("the start of a server with an intermediate", () => {
  it("fails with the name of the file and what to do when the chain is in the wrong order", async () => {
    write("online.pem", read("root.crt"), read("next.crt"));
    await assert.rejects(
      startTestServer({ settings: settings() }),
      /^UsageError: --cluster-signing-cert-file: .*online\.pem: the private key belongs to certificate 2/,
    );
  });

  it("succeeds when the intermediate has expired, because only new signatures have to wait", async () => {
    write("online.pem", read("ended.crt"), read("root.crt"));
    write("online.key", read("next.key"));
    errors.splice(0);
    const server = await startTestServer({ settings: { ...settings(), controllers: "false" }, log });
    await server.stop();
    const [error] = errors;
    assert.equal(error?.setting, "cluster-signing-cert-file");
    assert.match(String(error?.reason), /online\.pem: certificate 1 \(CN=Example next\) ended at/);
  });
});
