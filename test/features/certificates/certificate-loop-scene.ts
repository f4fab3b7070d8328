import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import type { KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { Names } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import { inProcessTransport } from "../../../src/machinery/client/in-process-transport.ts";
import { resourceReferences } from "../../resource-references.ts";
import type { ResourceReferences } from "../../resource-references.ts";
import { ignoreCodes } from "../../../src/machinery/client/ignore-codes.ts";
import { createCertificateAuthority, signCertificate } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateAuthority } from "../../../src/pki/certificates/certificate-authority.ts";
import type { CertificateTemplate } from "../../../src/pki/certificates/certificate-template.ts";
import { parseCertificate } from "../../../src/pki/certificates/certificate.ts";
import type { Certificate } from "../../../src/pki/certificates/certificate.ts";
import { createCertificateRequestPem } from "../../../src/pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../src/pki/names/subject-alt-names.ts";
import { parseCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import type { CertificateSigningRequest } from "../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import type { IssuedCertificate } from "../../../src/features/certificates/inventory/issued-certificates.ts";
import { issueCertificate } from "../../../src/features/certificates/signers/issue.ts";
import { parseCertificateRequestPem } from "../../../src/pki/requests/certificate-request.ts";
import type { TestServer } from "../../test-server.ts";

/** The longest wait here, so that a test that would never end fails with a message. */
const patienceMilliseconds = 120_000;

/** Follows one resource until an object is as wanted. */
export async function until<T extends ApiObject>(
  client: ApiClient,
  reference: ResourceType<T>,
  isWanted: (object: T, type: string) => boolean,
  /** The version from which to watch. Default: the existing objects, then the changes. */
  resourceVersion?: string,
): Promise<T> {
  const signal = AbortSignal.timeout(patienceMilliseconds);
  for await (const { object, type } of client
    .resource(reference)
    .watch(resourceVersion === undefined ? {} : { resourceVersion }, signal)) {
    if (isWanted(object, type)) return object;
  }
  throw new Error(`no ${reference.kind} became as wanted`);
}

export interface Wish {
  readonly name: string;
  readonly signerName: string;
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly names?: Partial<SubjectAltNames>;
  readonly usages?: readonly string[];
  readonly expirationSeconds?: number;
  /** Default: a new P-256 key. */
  readonly privateKey?: KeyObject;
}

/** Requests, decisions and outcomes against a server, as one user. */
export class CertificateScene {
  readonly names: Names;
  readonly references: ResourceReferences;
  readonly client: ApiClient;

  constructor(client: ApiClient, names: Names = namesFor("platform")) {
    this.client = client;
    this.names = names;
    this.references = resourceReferences(names);
  }

  get requests() {
    return this.client.resource(this.references.certificateSigningRequests);
  }

  /** Creates a request. */
  request(wish: Wish): Promise<CertificateSigningRequest> {
    const { name, signerName, commonName, organizations = [], names = {}, expirationSeconds } = wish;
    const pem = createCertificateRequestPem({
      privateKey: wish.privateKey ?? generatePrivateKey("ECDSA P-256"),
      subject: { commonName, organizations },
      subjectAltNames: { ...noSubjectAltNames, ...names },
    });
    return this.requests.create({
      apiVersion: `${this.names.group("certificates")}/v1`,
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(pem, "utf8").toString("base64"),
        signerName,
        usages: [...(wish.usages ?? ["digital signature", "client auth"])],
        ...(expirationSeconds !== undefined && { expirationSeconds }),
      },
      status: {},
    });
  }

  /** Approves a request unless it is already approved. */
  async approve(name: string): Promise<void> {
    const condition = { type: "Approved", status: "True", reason: "Test", message: "by the test" };
    await ignoreCodes(
      [409],
      this.requests.get(name).then(async (request) => {
        if (conditionOf(request, "Approved") !== undefined) return;
        await this.requests.update({ ...request, status: { conditions: [condition] } }, { subresource: "approval" });
      }),
    );
  }

  /** Acts as a signer that is another program: signs an approved request with its own CA, and writes the certificate. */
  async signElsewhere(name: string, authority: CertificateAuthority): Promise<void> {
    await this.writeCertificate(name, await this.signedElsewhere(name, authority));
  }

  /** A certificate for a request, as PEM. The server has not heard of it. */
  async signedElsewhere(name: string, authority: CertificateAuthority): Promise<string> {
    const { spec } = await this.requests.get(name);
    return issueCertificate({
      request: parseCertificateRequestPem(Buffer.from(spec.request ?? "", "base64")),
      usages: ["client auth"],
      expirationSeconds: 3600,
      authority,
      maximumLifetimeSeconds: 3600,
      now: Date.now(),
    }).pem;
  }

  async writeCertificate(name: string, pem: string): Promise<void> {
    const request = await this.requests.get(name);
    const status = { ...request.status, certificate: Buffer.from(pem).toString("base64") };
    await this.requests.update({ ...request, status }, { subresource: "status" });
  }

  /** The record of the certificate of a request, once the record exists. */
  recordOf(requestName: string): Promise<IssuedCertificate> {
    return until(this.client, this.references.issuedCertificates, ({ spec }) => spec.requestName === requestName);
  }

  /** The request once something has been decided that `isWanted` accepts. */
  settled(name: string, isWanted: (request: CertificateSigningRequest) => boolean): Promise<CertificateSigningRequest> {
    return until(
      this.client,
      this.references.certificateSigningRequests,
      (request) => request.metadata.name === name && isWanted(request),
    );
  }

  /** The certificates of a request once it has them: the leaf, then its chain. */
  async issued(name: string): Promise<Certificate[]> {
    const { status } = await this.settled(name, (request) => Boolean(request.status.certificate));
    return parseCertificatesPem(Buffer.from(status.certificate ?? "", "base64"));
  }

  /** Approves a request, which must then fail, and get no certificate. Returns why it failed. */
  async failure(name: string): Promise<{ readonly reason: string; readonly message: string }> {
    await this.approve(name);
    const { status } = await this.settled(name, (request) => conditionOf(request, "Failed") !== undefined);
    assert.equal(status.certificate, undefined, name);
    const { reason = "", message = "" } = status.conditions?.find(({ type }) => type === "Failed") ?? {};
    return { reason, message };
  }

  /** Requests, approves and waits for the certificate. */
  async obtain(wish: Wish): Promise<Certificate[]> {
    await this.request(wish);
    await this.approve(wish.name);
    return this.issued(wish.name);
  }
}

/** The scene of another user, impersonated by the administrator. */
export function sceneOf(
  server: TestServer,
  user: { readonly name: string; readonly groups: readonly string[] },
): CertificateScene {
  const transport = inProcessTransport(server.handler, { bearerToken: server.adminToken });
  const identity = { "impersonate-user": user.name, "impersonate-group": user.groups.join(",") };
  return new CertificateScene(
    new ApiClient({
      send: (request) => transport.send({ ...request, headers: { ...request.headers, ...identity } }),
      close: () => transport.close(),
    }),
  );
}

export const conditionOf = (request: CertificateSigningRequest, type: string) =>
  request.status.conditions?.find((condition) => condition.type === type);

/** Certificate files of one test, removed by `remove`. */
export class CertificateFolder {
  readonly path = mkdtempSync(join(tmpdir(), "signet-certificates-"));

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, ...certificates: readonly Certificate[]): string {
    writeFileSync(this.file(name), certificates.map(({ der }) => encodePem("CERTIFICATE", der)).join(""));
    return this.file(name);
  }

  writeKey(name: string, { privateKey }: CertificateAuthority): string {
    writeFileSync(this.file(name), encodePrivateKeyPem(privateKey), { mode: 0o600 });
    return this.file(name);
  }

  /** What `openssl verify` says of the first of some certificates. Throws an Error with its complaint. */
  opensslVerify(trusted: readonly Certificate[], [leaf, ...chain]: readonly Certificate[], purpose: string): string {
    if (leaf === undefined) throw new Error("no certificate to verify");
    const files = ["-CAfile", this.write("trusted.pem", ...trusted)];
    if (chain.length > 0) files.push("-untrusted", this.write("chain.pem", ...chain));
    return execFileSync(
      "openssl",
      ["verify", "-x509_strict", "-purpose", purpose, ...files, this.write("leaf.pem", leaf)],
      { encoding: "utf8" },
    );
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

const hourMilliseconds = 3_600_000;

export const newAuthority = (commonName: string): CertificateAuthority =>
  createCertificateAuthority({
    subject: { commonName },
    privateKey: generatePrivateKey("ECDSA P-256"),
    notBefore: Date.now() - hourMilliseconds,
    notAfter: Date.now() + 1000 * hourMilliseconds,
  });

/** A CA below another, which may sign certificates and lists. */
export function intermediateOf(
  issuer: CertificateAuthority,
  commonName: string,
  changes: Partial<CertificateTemplate> = {},
): CertificateAuthority {
  const privateKey = generatePrivateKey("ECDSA P-256");
  const { notBefore, notAfter } = issuer.certificate;
  const template: CertificateTemplate = {
    ...{ subject: { commonName }, publicKey: publicKeyInfoOf(privateKey), notBefore, notAfter, isCA: true },
    ...{ keyUsages: ["certSign", "crlSign"], extendedKeyUsages: [], subjectAltNames: noSubjectAltNames },
    ...changes,
  };
  return { certificate: parseCertificate(signCertificate(template, issuer)), privateKey };
}
