import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { CertificateManager } from "../../../src/agent/certificates/certificate-manager.ts";
import { CertificateStore } from "../../../src/agent/certificates/certificate-store.ts";
import { wantedServingCertificate } from "../../../src/agent/certificates/wanted-certificate.ts";
import type { WantedCertificate } from "../../../src/agent/certificates/wanted-certificate.ts";
import { timestamp } from "../../../src/machinery/api/clock.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { bodyText } from "../../../src/machinery/client/transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "../../../src/machinery/client/transport.ts";
import { serialNumberHex } from "../../../src/pki/certificates/certificate.ts";
import { parseCertificateRequestPem } from "../../../src/pki/requests/certificate-request.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import type { CertificateSigningRequest } from "../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { certificateFor } from "../issued-certificate.ts";
import { logTo } from "../log-to.ts";
import { settle, VirtualTime } from "../virtual-time.ts";

/** What the server does with requests. */
type Behaviour =
  | "issues"
  | "issues without names"
  | "issues for clients alone"
  | "issues a CA"
  | "issues for another key"
  | "denies"
  | "fails"
  | "ignores"
  | "issues without approval"
  | "says of a pending request that it is deleted"
  | "shows that another request is denied, and then deleted"
  | "ends each watch at once"
  | "is away"
  | "answers without a status"
  | { readonly asksForSeconds: unknown };

export const minute = 60_000;
export const hour = 60 * minute;
/** How long the server keeps its history of changes. */
const historyMilliseconds = 5 * 60_000;
export const wanted: WantedCertificate = wantedServingCertificate(platformNames, {
  nodeName: "n1",
  dnsNames: ["n1"],
  ipAddresses: ["10.0.0.1"],
});

/** A server that serves only certificate requests, with the test's clock, and the manager of one certificate as its client. */
export class SigningScene {
  readonly time = new VirtualTime(Date.UTC(2026, 0));
  readonly directory = mkdtempSync(join(tmpdir(), "signet-agent-"));
  readonly requests = new Map<string, CertificateSigningRequest>();
  readonly log: string[] = [];
  behaviour: Behaviour = "issues";
  /** Of the certificates that are issued. */
  lifetimeMilliseconds = 10 * hour;
  /** Of the machine's clock against the signer's. */
  issuedFromMilliseconds = 0;
  failures = 0;
  refusals = 0;
  /** Requests of any kind. */
  answers = 0;
  /** Whether the server answers 401 to the certificate in use. */
  isRefused = false;
  /** Whether the server says that a certificate is revoked, whichever certificate is asked about. */
  isRevoked = false;
  /** Called once, with the next answer. */
  onAnswer: (() => void) | undefined;
  #running = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(context: TestContext) {
    context.after(async () => {
      await this.stop();
      rmSync(this.directory, { recursive: true });
    });
  }

  /** Starts a manager on the scene's files, as a process would after a restart. */
  start(wish: WantedCertificate = wanted): CertificateManager {
    this.#running = new AbortController();
    const manager = new CertificateManager({
      name: "serving",
      store: this.store(),
      lifetimeSeconds: undefined,
      renewalShare: undefined,
      requestPrefix: "node-csr-",
      mustReplace: (pair) => pair !== undefined && this.isRefused,
      requestClient: () => this.client,
      clock: this.time,
      monotonic: this.time,
      random: () => 0.5,
      sleep: this.time.sleep,
      log: logTo(this.#write),
      onInstalled: () => {},
      onFailed: () => this.failures++,
    });
    manager.specify({ names: platformNames, wanted: wish });
    this.#work = manager.run(this.#running.signal);
    return manager;
  }

  /** Ends the manager like a process; its files stay. */
  async stop(): Promise<void> {
    this.#running.abort();
    await this.#work;
  }

  /** Decides a pending request, by the present behaviour of the scene. */
  issue(name: string): void {
    const request = this.requests.get(name);
    if (request !== undefined) this.requests.set(name, { ...request, status: this.#decide(request) });
  }

  store(): CertificateStore {
    return new CertificateStore(this.directory, "serving");
  }

  readonly #write = (_fields: unknown, message: string): void => void this.log.push(message);

  readonly #transport: Transport = {
    send: async (request) => {
      const answer = this.#answer(request);
      this.onAnswer?.();
      this.onAnswer = undefined;
      return answer;
    },
    close: () => {},
  };
  readonly client = new ApiClient(this.#transport);

  #answer(request: ClientRequest): ClientResponse {
    this.answers++;
    if (this.behaviour === "is away") throw new Error("connect ECONNREFUSED");
    if (this.behaviour === "answers without a status")
      return json(200, { kind: "CertificateSigningRequest", metadata: {} });
    if (typeof this.behaviour === "object") {
      this.refusals++;
      const details = { retryAfterSeconds: this.behaviour.asksForSeconds };
      return json(429, { kind: "Status", code: 429, message: "slow down", details });
    }
    if (request.path.endsWith("/certificatereviews"))
      return json(201, { kind: "CertificateReview", metadata: {}, status: { revoked: this.isRevoked } });
    if (request.method === "POST") {
      const created = JSON.parse(bodyText(request) ?? "") as CertificateSigningRequest; // the agent's own
      const name = created.metadata.name ?? "";
      this.requests.set(name, {
        ...created,
        metadata: {
          name,
          creationTimestamp: timestamp(this.time.now()),
          resourceVersion: String(this.time.now()),
        },
        status: this.#decide(created),
      });
      return json(201, this.requests.get(name));
    }
    if (request.query?.includes("watch=true")) {
      const from = new URLSearchParams(request.query).get("resourceVersion");
      if (from !== null && this.time.now() - Number(from) > historyMilliseconds)
        return json(410, { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
      if (this.behaviour === "ends each watch at once") return { status: 200, headers: {}, body: lines() };
      const [object] = this.requests.values();
      if (this.behaviour === "shows that another request is denied, and then deleted") {
        const other = { ...object, metadata: { name: "another" }, status: conditionOf("Denied") };
        return {
          status: 200,
          headers: {},
          body: lines({ type: "ADDED", object: other }, { type: "DELETED", object: other }),
        };
      }
      if (this.behaviour !== "says of a pending request that it is deleted")
        return { status: 200, headers: {}, body: openWatch(request.signal) };
      return { status: 200, headers: {}, body: openWatch(request.signal, { type: "DELETED", object }) };
    }
    const found = this.requests.get(request.path.split("/").at(-1) ?? "");
    return found === undefined ? json(404, { kind: "Status", code: 404 }) : json(200, found);
  }

  #decide({ spec }: CertificateSigningRequest): CertificateSigningRequest["status"] {
    const { publicKey } = parseCertificateRequestPem(Buffer.from(spec.request ?? "", "base64"));
    const notBefore = this.time.now() + this.issuedFromMilliseconds;
    const validity = { notBefore, notAfter: notBefore + this.lifetimeMilliseconds };
    const issued = (...given: Parameters<typeof certificateFor>): CertificateSigningRequest["status"] => {
      const pem = encodePem("CERTIFICATE", certificateFor(...given).der);
      return { ...conditionOf("Approved"), certificate: Buffer.from(pem).toString("base64") };
    };
    switch (this.behaviour) {
      case "issues":
        return issued(wanted, { ...validity, publicKey });
      case "issues without names":
        return issued(
          { ...wanted, subjectAltNames: { ...wanted.subjectAltNames, dnsNames: [] } },
          { ...validity, publicKey },
        );
      case "issues for clients alone":
        return issued({ ...wanted, usages: ["client auth"] }, { ...validity, publicKey });
      case "issues a CA":
        return issued(wanted, { ...validity, publicKey, isCA: true });
      case "issues for another key":
        return issued(wanted, validity);
      case "issues without approval":
        return { ...issued(wanted, { ...validity, publicKey }), conditions: [] };
      case "denies":
        return conditionOf("Denied");
      case "fails":
        return conditionOf("Failed");
      case "ignores":
      case "says of a pending request that it is deleted":
      case "shows that another request is denied, and then deleted":
      case "answers without a status":
      case "ends each watch at once":
      case "is away":
      default:
        return {};
    }
  }
}

const conditionOf = (type: string) => ({ conditions: [{ type, status: "True", reason: "Test", message: "" }] });

const json = (status: number, value: unknown): ClientResponse => ({ status, headers: {}, body: lines(value) });

async function* lines(...values: readonly unknown[]): AsyncGenerator<Uint8Array> {
  for (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`);
}

/** A watch with these events alone. Fails when its client ends it, as a connection does. */
async function* openWatch(signal: AbortSignal | undefined, ...events: readonly unknown[]): AsyncGenerator<Uint8Array> {
  yield* lines(...events);
  await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
}

/** Starts the manager of a scene, which requests its certificate. */
export async function started(scene: SigningScene): Promise<CertificateManager> {
  const manager = scene.start();
  await settle();
  return manager;
}

/** The serial number of the certificate in use, in hexadecimal digits. */
export const serial = ({ current }: CertificateManager): string =>
  current === undefined ? "none" : serialNumberHex(current.certificate);
