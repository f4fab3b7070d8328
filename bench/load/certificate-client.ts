import type { ClientHttp2Stream } from "node:http2";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import type { Http2Caller } from "./http2-caller.ts";
import { repeatConcurrently } from "./repeat-concurrently.ts";

const path = "/apis/certificates.platform.io/v1/certificatesigningrequests";

interface Request {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly certificate?: string };
}

/**
 * More requests than the server caches (`pki/recently-parsed.ts`), so that it parses and checks each request again. They are made
 * beforehand, so that making the keys is not measured.
 */
const keyCount = 1000;

const createRequest = (_: unknown, index: number): string =>
  Buffer.from(
    createCertificateRequestPem({
      privateKey: generatePrivateKey("ECDSA P-256"),
      subject: { commonName: `bench-${index}`, organizations: ["bench"] },
      subjectAltNames: noSubjectAltNames,
    }),
  ).toString("base64");

/** Who approves the requests of a load: its client, or the server's approval policy. */
export type Approver = "client" | "policy";

/** The approval policy of `policy`, as a file for `--approval-policy`. */
export const approvingPolicy = `rules:
  - name: bench
    match: { signers: [platform.io/apiserver-client], users: [bench] }
    action: approve
    require: { commonNames: ["bench-*"], organizations: [bench] }
`;

/** Requests certificates as an administrator, and learns from a watch that they are issued. */
export class CertificateClient {
  readonly #caller: Http2Caller;
  readonly #approver: Approver;
  readonly #watch: ClientHttp2Stream;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  readonly #requests = Array.from({ length: keyCount }, createRequest);
  #made = 0;

  constructor(caller: Http2Caller, { approver = "client" }: { readonly approver?: Approver } = {}) {
    this.#caller = caller;
    this.#approver = approver;
    this.#watch = caller.watch(`${path}?watch=true`, (line) => {
      const { object } = JSON.parse(line) as { object: Request }; // a watch event
      if (!object.status?.certificate) return;
      this.#waiting.get(object.metadata.name)?.resolve();
      this.#waiting.delete(object.metadata.name);
    });
    // The watch ends early, for example when this process reads too slowly. Then nothing would report the other certificates.
    this.#watch.on("close", () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error("the watch ended before all certificates came"));
    });
  }

  /**
   * Resolves when the watch has brought the last certificate. `concurrency` of them are requested and approved at a time. Rejects when
   * the watch ends before that.
   */
  async issue(count: number, { concurrency }: { readonly concurrency: number }): Promise<void> {
    const issued: Promise<void>[] = [];
    await repeatConcurrently({ times: count, concurrency }, () => {
      const name = `certificate-${this.#made++}`; // not `bench-`, with which the server makes names for other workloads
      const waiting = Promise.withResolvers<void>();
      waiting.promise.catch(() => {}); // when a request fails first, nobody waits for this one
      this.#waiting.set(name, waiting);
      issued.push(waiting.promise);
      return this.#approver === "client"
        ? this.#requestAndApprove(name)
        : this.#request(name).then(() => waiting.promise);
    });
    await Promise.all(issued);
  }

  close(): void {
    this.#watch.close();
  }

  #request(name: string): Promise<Request> {
    return this.#send("POST", path, {
      apiVersion: "certificates.platform.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: this.#requests[this.#made % keyCount],
        signerName: "platform.io/apiserver-client",
        usages: ["digital signature", "client auth"],
        expirationSeconds: 86_400,
      },
    });
  }

  async #requestAndApprove(name: string): Promise<void> {
    const created = await this.#request(name);
    const condition = { type: "Approved", status: "True", reason: "Bench", message: "approved by the bench" };
    await this.#send("PUT", `${path}/${name}/approval`, { ...created, status: { conditions: [condition] } });
  }

  async #send(method: string, target: string, body: unknown): Promise<Request> {
    const { status, text } = await this.#caller.call(method, target, { body });
    if (status >= 300) throw new Error(`${method} ${target}: ${status} ${text}`);
    return JSON.parse(text) as Request; // what the server answers to a write
  }
}
