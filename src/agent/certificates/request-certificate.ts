import { createHash } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { certificateRequestState, isUnfinished, newSigningRequest } from "../../features/certificates/resources.ts";
import type { CertificateSigningRequest } from "../../features/certificates/resources.ts";
import type { Clock, Sleep } from "../../machinery/api/clock.ts";
import type { NewObject, ResourceClient } from "../../machinery/client/api-client.ts";
import { createCertificateRequestPem } from "../../pki/requests/create-certificate-request.ts";
import { encodePrivateKeyPem, keyTypeOf, parsePrivateKeyPem, publicKeyInfoOf } from "../../pki/keys/keys.ts";
import type { KeyType } from "../../pki/keys/keys.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import { refusalReason } from "./certificate-renewal.ts";
import type { CertificateStore } from "./certificate-store.ts";
import { generateKey } from "./generate-key.ts";
import { keyPair } from "./key-pair.ts";
import type { KeyPair } from "./key-pair.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

type PendingKeys = Pick<CertificateStore, "pendingKey" | "keepPendingKey" | "forgetPendingKey">;

interface CertificateRequestOptions {
  readonly wanted: WantedCertificate;
  readonly lifetimeSeconds: number | undefined;
  /** The beginning of the request's name. */
  readonly requestPrefix: string;
  /** A client with the identity that requests the certificate. */
  readonly requests: ResourceClient<CertificateSigningRequest>;
  readonly store: PendingKeys;
  /** The server's time. */
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onCreated: (requestName: string) => void;
  /** Called for a request from before a restart, and every 15 minutes while the request waits. */
  readonly onWaiting: (request: CertificateSigningRequest) => void;
}

/** A request gave no certificate. After a denial or a failure, a new key is needed; after a deletion, the same key is requested again. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
}

/** The pauses between the first reads. A server that decides automatically has decided after them. */
const firstPausesMilliseconds = [200, 800, 2000];
/** The longest time of one watch, so that a watch that gets stuck does not delay a certificate. */
const longestWatchMilliseconds = 60_000;
/** The longest pause between watches that the server, or a proxy in front of it, repeatedly ends too soon. */
const longestPauseMilliseconds = 10_000;
const reminderMilliseconds = 15 * 60_000;

/**
 * Requests a certificate and waits for it, however long that takes, or continues to wait for a request from before a restart.
 * Throws RequestRefused when the request was denied, failed or deleted, or the certificate cannot be used. Any other error
 * keeps the key, and the next call continues.
 */
export async function requestCertificate(options: CertificateRequestOptions, signal: AbortSignal): Promise<KeyPair> {
  const { requests, store, clock, sleep, onCreated, onWaiting, wanted } = options;
  const keptKey = usableKey(store.pendingKey(), wanted.keyType);
  const keyPem = keptKey ?? (await newPendingKey(options, signal));
  const privateKey = parsePrivateKeyPem(keyPem);
  const request = signingRequest({ ...options, privateKey });
  const name = request.metadata.name ?? "";
  const refused = (why: string): RequestRefused => {
    store.forgetPendingKey();
    return new RequestRefused(`request ${name}: ${why}`);
  };

  // A new key has no request yet.
  const kept = keptKey === undefined ? undefined : await requests.find(name);
  const first = kept ?? (await requests.create(request));
  if (kept === undefined) onCreated(name);
  else if (isUnfinished(kept)) onWaiting(kept);
  let remindAt = clock.now() + reminderMilliseconds;
  for await (const found of statesOf(first, { requests, sleep, signal })) {
    // The server deletes requests that are not decided within a day.
    if (found === undefined)
      throw new RequestRefused(`request ${name}: it was deleted before a certificate was issued`);
    switch (certificateRequestState(found)) {
      case "issued": {
        const pair = orPkiError(() => keyPair({ keyPem, certificatePem: decode(found.status.certificate) }));
        if (pair instanceof PkiError) throw refused(`the issued certificate cannot be used: ${pair.message}`);
        return pair;
      }
      case "denied":
      case "failed":
        throw refused(refusalReason(found));
      case "approved":
      case "pending":
        if (clock.now() < remindAt) continue;
        onWaiting(found);
        remindAt = clock.now() + reminderMilliseconds;
    }
  }
  throw new Error(`request ${name} is not followed any more`); // only when `signal` aborts
}

/** Converts its argument to text first, because the server may answer with any type. */
const decode = (base64: unknown): string => Buffer.from(String(base64), "base64").toString("utf8");

/** The kept key of a pending request. Undefined when there is none, or the key has another type. */
export const usableKey = (kept: string | undefined, keyType: KeyType): string | undefined =>
  kept !== undefined && typeOf(kept) === keyType ? kept : undefined;

/** Writes the key to disk before the server gets its request: otherwise a kill could lose the key of an issued certificate. */
async function newPendingKey(
  { store, wanted }: Pick<CertificateRequestOptions, "store" | "wanted">,
  signal: AbortSignal,
): Promise<string> {
  const made = encodePrivateKeyPem(await generateKey(wanted.keyType, signal));
  store.keepPendingKey(made);
  return made;
}

/** The type of a key. Undefined for a text that holds no key. */
function typeOf(keyPem: string): string | undefined {
  const type = orPkiError(() => keyTypeOf(publicKeyInfoOf(parsePrivateKeyPem(keyPem))));
  return type instanceof PkiError ? undefined : type;
}

interface FollowOptions extends Pick<CertificateRequestOptions, "requests" | "sleep"> {
  readonly signal: AbortSignal;
}

/**
 * The state of a request now, and each later state; undefined after its deletion. Ends only with an error, or when `signal` aborts. Most
 * requests are decided at once, and a few reads cost less than a watch. The other requests are watched, and read every minute in case the
 * watch got stuck.
 */
async function* statesOf(
  first: CertificateSigningRequest,
  { requests, sleep, signal }: FollowOptions,
): AsyncGenerator<CertificateSigningRequest | undefined> {
  yield first;
  const { name = "" } = first.metadata;
  for (const milliseconds of firstPausesMilliseconds) {
    await sleep(milliseconds, signal);
    signal.throwIfAborted();
    yield await requests.find(name);
  }
  for (let cutShort = 0; ;) {
    const pauseMilliseconds = Math.min(longestPauseMilliseconds, 1000 * 2 ** cutShort);
    cutShort = (yield* watched(name, { requests, sleep, signal, pauseMilliseconds })) ? cutShort + 1 : 0;
    signal.throwIfAborted();
    yield await requests.find(name);
  }
}

/**
 * A request as it is, and its changes, for at most a minute. Ends when the request is deleted. Returns whether the watch ended too soon.
 * The watch does not begin at the request's own resourceVersion: the server soon forgets the changes since then, and would refuse the watch
 * for as long as nobody decides.
 */
async function* watched(
  name: string,
  { requests, sleep, signal, pauseMilliseconds }: FollowOptions & { readonly pauseMilliseconds: number },
): AsyncGenerator<CertificateSigningRequest, boolean> {
  const watching = new AbortController();
  const stop = AbortSignal.any([signal, watching.signal]);
  const timedOut = sleep(longestWatchMilliseconds, stop).then(() => watching.abort());
  try {
    for await (const { type, object } of requests.watchOne({ name }, stop)) {
      if (type === "DELETED") break;
      yield object;
    }
    // The server ended the watch, or the name now belongs to another request: do not watch again at once.
    await sleep(pauseMilliseconds, stop);
    return !stop.aborted;
  } catch (error) {
    if (!stop.aborted) throw error;
    return false;
  } finally {
    watching.abort();
    await timedOut;
  }
}

interface SigningRequestOptions extends Pick<
  CertificateRequestOptions,
  "wanted" | "lifetimeSeconds" | "requestPrefix"
> {
  readonly privateKey: KeyObject;
}

/**
 * The request for a certificate. Its name is a digest of the key and of everything that is requested. So after a restart the same key leads
 * to the same request, and changed names lead to a new request (upstream: kubelet's `node-csr-` names).
 */
export function signingRequest(options: SigningRequestOptions): NewObject<CertificateSigningRequest> {
  const { wanted, requestPrefix, privateKey, lifetimeSeconds } = options;
  const { signerName, commonName, organizations, subjectAltNames, usages } = wanted;
  const pem = createCertificateRequestPem({ privateKey, subject: { commonName, organizations }, subjectAltNames });
  const digest = createHash("sha256")
    .update(publicKeyInfoOf(privateKey).spki)
    .update(JSON.stringify([wanted, lifetimeSeconds]));
  const name = `${requestPrefix}${digest.digest("hex").slice(0, 40)}`;
  return newSigningRequest({ name, pem, signerName, usages, expirationSeconds: lifetimeSeconds });
}
