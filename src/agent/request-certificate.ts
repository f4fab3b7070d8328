import { createHash } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { CertificateSigningRequest } from "../features/certificates/resources.ts";
import { ApiError } from "../machinery/api/api-error.ts";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ResourceClient } from "../machinery/client/api-client.ts";
import type { Sleep } from "../machinery/loops/repetition.ts";
import { createCertificateRequestPem } from "../pki/create-certificate-request.ts";
import { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem, publicKeyInfoOf } from "../pki/keys.ts";
import { PkiError } from "../pki/pki-error.ts";
import { overdueAt, refusalOf, requestState } from "./certificate-renewal.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { keyPair } from "./key-pair.ts";
import type { KeyPair } from "./key-pair.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

export interface CertificateRequestOptions {
  readonly names: Names;
  readonly wanted: WantedCertificate;
  readonly lifetimeSeconds: number | undefined;
  /** As the identity that asks. */
  readonly requests: ResourceClient<CertificateSigningRequest>;
  readonly store: CertificateStore;
  /** The server's time. */
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onCreated: (requestName: string) => void;
}

/** Nothing will come of a request: the next one is a new one, with a new key. */
export class RequestRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RequestRefused";
  }
}

/** A watch that hangs must not hold up a certificate. */
const longestWatchMilliseconds = 60_000;

/**
 * Asks for a certificate and waits for it, or goes on waiting for one that was asked for before a restart. Throws
 * RequestRefused when the request was denied, failed, overdue, or answered with a certificate that is of no use; its key
 * is then forgotten. Any other error leaves the key, and the next call goes on where this one ended.
 */
export async function requestCertificate(options: CertificateRequestOptions, signal: AbortSignal): Promise<KeyPair> {
  const { names, wanted, lifetimeSeconds, requests, store, onCreated } = options;
  const keyPem = pendingKey(store);
  const privateKey = parsePrivateKeyPem(keyPem);
  const request = signingRequest({ names, wanted, privateKey, lifetimeSeconds });
  const name = request.metadata.name ?? "";
  const refused = (why: string): RequestRefused => {
    store.forgetPendingKey();
    return new RequestRefused(`request ${name}: ${why}`);
  };

  let found = await requests.find(name);
  if (found === undefined) {
    found = await createOrGet(requests, request);
    onCreated(name);
  }
  for (;;) {
    const state = requestState(found, options.clock.now());
    switch (state) {
      case "issued": {
        try {
          return keyPair({ keyPem, certificatePem: decode(found?.status.certificate) });
        } catch (error) {
          if (error instanceof PkiError) throw refused(`the issued certificate is of no use: ${error.message}`);
          throw error;
        }
      }
      case "denied":
      case "failed":
        throw refused(found === undefined ? state : refusalOf(found));
      case "overdue":
        throw refused("nobody approved and signed it in time");
      case "absent":
        throw refused("it was deleted before a certificate was issued");
      case "pending":
        if (found !== undefined) await changeOf(found, options, signal);
        signal.throwIfAborted();
        found = await requests.find(name);
    }
  }
}

const decode = (base64 = ""): string => Buffer.from(base64, "base64").toString("utf8");

/** It is on disk before the server hears of it: a certificate that nobody has the key of would be lost. */
function pendingKey(store: CertificateStore): string {
  const kept = store.pendingKey();
  if (kept !== undefined) return kept;
  const made = encodePrivateKeyPem(generatePrivateKey("ECDSA P-256"));
  store.keepPendingKey(made);
  return made;
}

async function createOrGet(
  requests: ResourceClient<CertificateSigningRequest>,
  request: CertificateSigningRequest,
): Promise<CertificateSigningRequest> {
  try {
    return await requests.create(request);
  } catch (error) {
    // An answer that was lost on its way: the request is there.
    if (error instanceof ApiError && error.reason === "AlreadyExists") return requests.get(request.metadata.name ?? "");
    throw error;
  }
}

/** Resolves when a pending request changed, is overdue, or has not been heard of for a while. */
async function changeOf(
  pending: CertificateSigningRequest,
  { requests, clock, sleep }: CertificateRequestOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", resourceVersion = "" } = pending.metadata;
  const remaining = overdueAt(pending) - clock.now();
  const watching = new AbortController();
  const stop = AbortSignal.any([signal, watching.signal]);
  const timedOut = sleep(Math.min(remaining, longestWatchMilliseconds), stop).then(() => watching.abort());
  try {
    const selection = { fieldSelector: `metadata.name=${name}`, resourceVersion };
    for await (const { type } of requests.watch(selection, stop)) if (type !== "BOOKMARK") return;
    // The server ended the watch without a change: not again at once.
    await sleep(1000, stop);
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    watching.abort();
    await timedOut;
  }
}

export interface SigningRequestOptions {
  readonly names: Names;
  readonly wanted: WantedCertificate;
  readonly privateKey: KeyObject;
  readonly lifetimeSeconds: number | undefined;
}

/**
 * The request for a certificate. Its name is a digest of the key and of all that is asked for: after a restart the same
 * key finds the same request again, and another wish is another request (upstream: kubelet's `node-csr-` names).
 */
export function signingRequest({
  names,
  wanted,
  privateKey,
  lifetimeSeconds,
}: SigningRequestOptions): CertificateSigningRequest {
  const { signerName, commonName, organizations, subjectAltNames, usages } = wanted;
  const pem = createCertificateRequestPem({ privateKey, subject: { commonName, organizations }, subjectAltNames });
  const digest = createHash("sha256")
    .update(publicKeyInfoOf(privateKey).spki)
    .update(JSON.stringify([wanted, lifetimeSeconds]));
  return {
    apiVersion: `${names.group("certificates")}/v1`,
    kind: "CertificateSigningRequest",
    metadata: { name: `node-csr-${digest.digest("hex").slice(0, 40)}` },
    spec: {
      request: Buffer.from(pem, "utf8").toString("base64"),
      signerName,
      usages: [...usages],
      ...(lifetimeSeconds !== undefined && { expirationSeconds: lifetimeSeconds }),
    },
    status: {},
  };
}
