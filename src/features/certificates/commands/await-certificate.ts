import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../../machinery/api/api-error.ts";
import type { ResourceClient } from "../../../machinery/client/api-client.ts";
import { CommandFailure, commandRefused } from "../../../machinery/command-line/command-failure.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { startProgress } from "../../../machinery/command-line/output/progress.ts";
import type { CertificateSigningRequest } from "../requests/certificate-signing-request-schema.ts";
import { certificateRequestSummary, conditionOf } from "../requests/certificate-request-state.ts";
import { requestsOf } from "./requests-of.ts";

/** The pause between two reads of the request: a server may end each watch at once, or refuse it. */
const pauseMilliseconds = 1000;

interface AwaitedRequest {
  readonly name: string;
  /** The uid of the request that the caller has seen or made. Undefined: the request with this name when the wait begins. */
  readonly uid?: string | undefined;
}

/**
 * Waits until a request has its certificate, for at most the `--timeout`. Throws CommandFailure when the request is denied, failed, deleted
 * or replaced by a request of the same name, and when the time is over.
 */
export async function awaitCertificate(
  connection: Pick<ServerConnection, "client" | "names" | "timeoutMilliseconds">,
  { name, uid }: AwaitedRequest,
): Promise<CertificateSigningRequest> {
  const { timeoutMilliseconds } = connection;
  const requests = requestsOf(connection);
  const deadline = timeoutMilliseconds === 0 ? new AbortController().signal : AbortSignal.timeout(timeoutMilliseconds);
  let latest = await requests.get(name);
  const awaitedUid = uid ?? latest.metadata.uid;
  const progress = startProgress();
  progress.show(`waiting for the certificate of ${name}`);
  try {
    for (;;) {
      if (latest.metadata.uid !== awaitedUid) throw deleted(name);
      if (isOver(latest)) break;
      latest = await nextChange(latest, { requests, deadline });
    }
    return issued(latest);
  } catch (error) {
    throw deadline.aborted ? stillPending(latest, timeoutMilliseconds) : error;
  } finally {
    progress.end();
  }
}

interface ChangeSource {
  readonly requests: ResourceClient<CertificateSigningRequest>;
  readonly deadline: AbortSignal;
}

/**
 * The request as soon as it is issued, denied or failed, or its state after a watch has ended. Reads at intervals when the caller may not
 * watch.
 */
async function nextChange(
  { metadata: { name = "", resourceVersion = "" } }: CertificateSigningRequest,
  { requests, deadline }: ChangeSource,
): Promise<CertificateSigningRequest> {
  try {
    for await (const { type, object } of requests.watchOne({ name, resourceVersion }, deadline)) {
      if (type === "DELETED") throw deleted(name);
      if (isOver(object)) return object;
    }
  } catch (error) {
    // 410: the server no longer has the changes since then, so read the request again. 403: the caller may not watch.
    if (!(error instanceof ApiError && (error.code === 410 || error.code === 403))) throw error;
  }
  await sleep(pauseMilliseconds, undefined, { signal: deadline });
  return await requests.get(name);
}

const isOver = (request: CertificateSigningRequest): boolean =>
  Boolean(request.status.certificate) ||
  conditionOf(request, "Denied") !== undefined ||
  conditionOf(request, "Failed") !== undefined;

function issued(request: CertificateSigningRequest): CertificateSigningRequest {
  const name = request.metadata.name ?? "";
  const denied = conditionOf(request, "Denied");
  if (denied !== undefined) {
    throw commandRefused(
      `certificate request ${name} was denied: ${denied.message || denied.reason || "no reason is given"}`,
    );
  }
  const failed = conditionOf(request, "Failed");
  if (failed !== undefined) {
    const reason = failed.message || failed.reason || "no reason is given";
    throw commandRefused(
      `the signer failed certificate request ${name}: ${reason}; make a new request that meets its rules`,
    );
  }
  return request;
}

const deleted = (name: string): CommandFailure =>
  commandRefused(`certificate request ${name} was deleted; make it again`);

function stillPending(request: CertificateSigningRequest, timeoutMilliseconds: number): CommandFailure {
  const name = request.metadata.name ?? "";
  const next =
    conditionOf(request, "Approved") === undefined
      ? `approve it with signet csr approve ${name}`
      : "look whether the controller of its signer runs";
  const state = `${certificateRequestSummary(request)} after ${timeoutMilliseconds / 1000}s`;
  return new CommandFailure(`certificate request ${name} is ${state}: ${next}, or wait longer with --timeout`, {
    exit: "pending",
  });
}
