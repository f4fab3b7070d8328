import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../../src/machinery/client/in-process-transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "../../../../src/machinery/client/transport.ts";
import {
  certificateRecord,
  signedRecordName,
} from "../../../../src/features/certificates/inventory/certificate-record.ts";
import { certificateInventory } from "../../../../src/features/certificates/inventory/certificate-inventory.ts";
import { issuedCertificateResource } from "../../../../src/features/certificates/resources.ts";
import { csrSigning } from "../../../../src/features/certificates/signers/csr-signing.ts";
import { runningSigners } from "../../../../src/features/certificates/signers/running-signers.ts";
import { runControllers } from "../../../../src/machinery/loops/elected-controllers.ts";
import type { IssuedCertificate } from "../../../../src/features/certificates/inventory/issued-certificates.ts";
import type { ServerIdentity } from "../../../../src/features/certificates/signers/server-identity.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { signCertificate } from "../../../../src/pki/certificates/certificate-authority.ts";
import { parseRequestField } from "../../../../src/pki/requests/certificate-request.ts";
import type { CertificateTemplate } from "../../../../src/pki/certificates/certificate-template.ts";
import { parseCertificate } from "../../../../src/pki/certificates/certificate.ts";
import { generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { atOnce, loopContext } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateScene, conditionOf, newAuthority } from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

/** The fault of a write: it is refused, it succeeds without an answer, or the connection breaks before or after it. */
type Fault = "conflict" | "unavailable" | "done-but-504" | "broken-before" | "broken-after";
const faults: readonly Fault[] = ["conflict", "unavailable", "done-but-504", "broken-before", "broken-after"];

type Step = "record" | "status";
const stepOf = ({ method, path }: ClientRequest): Step | undefined => {
  if (method === "POST" && path.endsWith("/issuedcertificates")) return "record";
  return method === "PUT" && path.endsWith("/status") ? "status" : undefined;
};

const unknownServer: ServerIdentity = { names: { dnsNames: [], ipAddresses: [] }, certificates: [] };

const failure = (code: number, reason: string): ClientResponse => ({
  status: code,
  headers: { "content-type": "application/json" },
  body: (async function* () {
    yield Buffer.from(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason }));
  })(),
});

/** The way to the server, on which the writes of one step meet faults, one after the other, and then none. */
class FaultyTransport implements Transport {
  readonly #next: Transport;
  readonly #faults: Fault[];
  readonly #step: Step;
  readonly writes: Step[] = [];

  constructor(next: Transport, { step, faults }: { readonly step: Step; readonly faults: readonly Fault[] }) {
    this.#next = next;
    this.#step = step;
    this.#faults = [...faults];
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const step = stepOf(request);
    if (step !== undefined) this.writes.push(step);
    const fault = step === this.#step ? this.#faults.shift() : undefined;
    if (fault === "conflict") return failure(409, "Conflict");
    if (fault === "unavailable") return failure(503, "ServiceUnavailable");
    if (fault === "broken-before") throw new Error("the connection broke");
    const response = await this.#next.send(request);
    if (fault === "done-but-504") return failure(504, "Timeout");
    if (fault === "broken-after") throw new Error("the connection broke");
    return response;
  }

  close(): void {
    this.#next.close();
  }
}

describe("csrsigning under failures", () => {
  let server: TestServer;
  let scene: CertificateScene;
  const ca = newAuthority("signer");
  const authority = rootSigningAuthority(ca);
  const signers = runningSigners({
    ...{ names, authorityFor: () => authority, configured: () => [] },
    maximumLifetimeSeconds: 3600,
    revocation: undefined,
  });
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
    scene = new CertificateScene(server.client);
  });

  const way = (): Transport => inProcessTransport(server.handler, { bearerToken: server.adminToken });

  /** The loop, with a clock that the test sets and retries that do not wait. */
  function start(transport: Transport, now = () => Date.now()) {
    const client = new ApiClient(transport);
    const waits: number[] = [];
    const context = loopContext({
      client,
      clock: { now },
      schedule: (run, milliseconds) => {
        waits.push(milliseconds);
        return atOnce(run, milliseconds);
      },
    });
    const signing = csrSigning({ findSigner: signers.find, server: () => unknownServer });
    const running = runControllers([signing, certificateInventory], context);
    return { waits, informers: context.informers, stop: () => running.stop() };
  }

  const records = () => server.client.resource(scene.references.issuedCertificates);

  async function recordsOf(name: string): Promise<IssuedCertificate[]> {
    const { metadata } = await scene.requests.get(name);
    return (await records().list({ fieldSelector: `spec.requestUid=${metadata.uid}` })).items;
  }

  async function approved(name: string): Promise<void> {
    await scene.request({ name, signerName: signerNames.apiserverClient(names), commonName: "alice" });
    await scene.approve(name);
  }

  async function assertOneCertificate(name: string): Promise<void> {
    await scene.issued(name);
    const { status } = await scene.requests.get(name);
    const found = await recordsOf(name);
    assert.deepEqual(
      found.map(({ spec }) => spec.certificate),
      [status.certificate],
      "there is one record, and it holds what was handed out",
    );
  }

  /** Runs the loop in a process that ends before it writes a status. */
  async function endBeforeStatus(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const next = way();
    const loop = start({
      send: async (request) => {
        if (stepOf(request) !== "status") return next.send(request);
        resolve();
        throw new Error("the process ended");
      },
      close: () => {},
    });
    await promise;
    await loop.stop();
  }

  for (const step of ["record", "status"] as const) {
    for (const fault of faults) {
      it(`issues one certificate when the write of the ${step} meets "${fault}" nine times`, async () => {
        const name = `${step}-${fault}`;
        await approved(name);
        const transport = new FaultyTransport(way(), { step, faults: Array<Fault>(9).fill(fault) });
        const loop = start(transport);
        await assertOneCertificate(name);
        await loop.stop();
        await scene.requests.delete(name);
      });
    }
  }

  it("waits longer before each retry, up to a minute", async () => {
    await approved("patient");
    const transport = new FaultyTransport(way(), { step: "status", faults: Array<Fault>(14).fill("unavailable") });
    const { uid } = (await scene.requests.get("patient")).metadata;
    const heard = Promise.withResolvers<void>();
    const loop = start({
      send: async (request) => {
        // A loop that has not heard of the record yet tries to create it again.
        if (stepOf(request) === "status") await heard.promise;
        return transport.send(request);
      },
      close: () => transport.close(),
    });
    const ofRequest = ({ spec }: IssuedCertificate) => void (spec.requestUid === uid && heard.resolve());
    loop.informers.of(issuedCertificateResource(names)).addHandler({ onAdd: ofRequest });
    await assertOneCertificate("patient");
    await loop.stop();
    assert.deepEqual(
      loop.waits.slice(0, 14),
      Array.from({ length: 14 }, (_, index) => Math.min(60_000, 20 * 2 ** index)),
    );
    assert.equal(transport.writes.filter((step) => step === "record").length, 1);
    await scene.requests.delete("patient");
  });

  it("returns the recorded certificate when the process ended between record and status", async () => {
    await approved("restarted");
    await endBeforeStatus();
    assert.equal((await recordsOf("restarted")).length, 1);
    const second = start(way());
    await assertOneCertificate("restarted");
    await second.stop();
    await scene.requests.delete("restarted");
  });

  it("signs once when two processes sign at the same moment", async () => {
    await approved("twice");
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    const meeting = (): Transport => {
      const next = way();
      return {
        send: async (request) => {
          if (stepOf(request) === "record") {
            waiting += 1;
            if (waiting === 2) both.resolve();
            await both.promise;
          }
          return next.send(request);
        },
        close: () => next.close(),
      };
    };
    const loops = [start(meeting()), start(meeting())];
    await assertOneCertificate("twice");
    for (const loop of loops) await loop.stop();
    assert.equal((await recordsOf("twice")).length, 1);
    await scene.requests.delete("twice");
  });

  it("fails a request whose certificate expired before it was delivered, and does not sign again", async () => {
    await approved("late");
    await endBeforeStatus();
    // After the signature: the certificate's hour began at most now.
    const now = Date.now() + 3_600_000;
    const second = start(way(), () => now);
    const failed = await scene.settled("late", (request) => conditionOf(request, "Failed") !== undefined);
    await second.stop();
    assert.equal(conditionOf(failed, "Failed")?.reason, "CertificateEnded");
    assert.equal((await recordsOf("late")).length, 1);
    await scene.requests.delete("late");
  });

  it("does not return a recorded certificate with another key, subject or name, or of a CA", async () => {
    const client = { signerName: signerNames.apiserverClient(names), commonName: "alice" };
    const wrongs: readonly Partial<CertificateTemplate>[] = [
      { publicKey: publicKeyInfoOf(generatePrivateKey("ECDSA P-256")) },
      { subject: { commonName: "root" } },
      { subjectAltNames: { ...noSubjectAltNames, dnsNames: ["bank.example.com"] } },
      { isCA: true },
    ];
    for (const [index, wrong] of wrongs.entries()) {
      const stored = await scene.request({ name: `robbed-${index}`, ...client });
      const { subject, publicKey, subjectAltNames } = parseRequestField(stored.spec.request ?? "");
      const template: CertificateTemplate = {
        ...{ subject, publicKey, subjectAltNames, isCA: false, keyUsages: [], extendedKeyUsages: ["clientAuth"] },
        ...{ notBefore: Date.now() - 60_000, notAfter: Date.now() + 600_000 },
        ...wrong,
      };
      const der = signCertificate(template, ca);
      const text = Buffer.from(encodePem("CERTIFICATE", der)).toString("base64");
      const recordName = signedRecordName(stored.metadata.uid ?? "");
      await records().create(
        certificateRecord({ recordName, certificate: parseCertificate(der), request: stored, text }),
      );
      await scene.approve(`robbed-${index}`);
    }
    const loop = start(way());
    // What is approved later is signed: by then the loop has looked at the others.
    await approved("after");
    await assertOneCertificate("after");
    for (const [index] of wrongs.entries()) {
      const { metadata, status } = await scene.requests.get(`robbed-${index}`);
      assert.equal(status.certificate, undefined, Object.keys(wrongs[index] ?? {}).join());
      await records().delete(signedRecordName(metadata.uid ?? ""));
      await scene.issued(`robbed-${index}`);
    }
    await loop.stop();
  });
});
