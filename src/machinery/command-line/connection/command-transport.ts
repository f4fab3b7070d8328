import { currentCredentials, httpsTransport } from "../../client/https/https-transport.ts";
import type { HttpsTransportOptions } from "../../client/https/https-transport.ts";
import { explainedAnswer } from "../../client/explained-answer.ts";
import type { ClientRequest, Transport } from "../../client/transport.ts";
import { CommandFailure } from "../command-failure.ts";
import { connectionFailure, noAnswerInTime } from "./connection-failure.ts";
import { parseCertificatesPem } from "../../../pki/certificates/certificates-pem.ts";
import { orPkiError, PkiError } from "../../../pki/pki-error.ts";
import { timestamp } from "../../api/clock.ts";
import { parseJsonObject } from "../../api/json/json-object.ts";

interface CommandTransportOptions {
  readonly transport: HttpsTransportOptions;
  /** For each answer, from the request to its last byte; 0 is no limit. A watch has no limit: its own signal ends it. */
  readonly timeoutMilliseconds: number;
}

/** How commands reach a server: every answer is bounded in time, and every failure is explained. */
export function commandTransport({ transport, timeoutMilliseconds }: CommandTransportOptions): Transport {
  // The limit for the whole answer replaces the limit for the time between two bytes.
  const https = httpsTransport({ ...transport, timeoutMilliseconds: 0 });
  return {
    async send(request) {
      const isWatch = new URLSearchParams(request.query).has("watch");
      const timeout = isWatch || timeoutMilliseconds === 0 ? undefined : AbortSignal.timeout(timeoutMilliseconds);
      const explain = (error: unknown): unknown => {
        if (timeout?.aborted === true) return noAnswerInTime(transport.server, timeoutMilliseconds);
        return request.signal?.aborted === true ? error : connectionFailure(error, transport.server);
      };
      const response = await explainedAnswer(() => https.send({ ...request, ...signalOf(request, timeout) }), explain);
      const { status } = response;
      if (!isRefusedLogin(status, transport)) return response;
      const serverDate = String(response.headers["date"] ?? "");
      throw refusedCredentials({ status, transport, serverDate, now: Date.now() });
    },
    close: () => https.close(),
  };
}

function signalOf(request: ClientRequest, timeout: AbortSignal | undefined): Pick<ClientRequest, "signal"> {
  const signals = [request.signal, timeout].filter((signal) => signal !== undefined);
  return signals.length === 0 ? {} : { signal: AbortSignal.any(signals) };
}

/** Clocks that differ by less than this cannot be the reason why the server refuses a credential. */
const tolerableSkewMilliseconds = 60_000;

interface Refusal {
  readonly status: number;
  readonly transport: HttpsTransportOptions;
  /** The Date header of the answer. */
  readonly serverDate: string | undefined;
  readonly now: number;
}

/** Whether a server refuses a request because its credentials are wrong or missing. */
const isRefusedLogin = (status: number, transport: HttpsTransportOptions): boolean =>
  status === 401 ||
  (status === 403 &&
    transport.bearerToken?.() === undefined &&
    currentCredentials(transport).clientCertificate === undefined);

/** Explains the refusal from what the client can see of its own credentials, and says how to get better ones. */
const refusedCredentials = (refusal: Refusal): CommandFailure =>
  new CommandFailure(
    `the server ${refusal.transport.server} does not know you (${refusal.status}): ${reasonFor(refusal)}`,
    {
      exit: "unauthenticated",
    },
  );

function reasonFor({ transport, serverDate, now }: Refusal): string {
  const token = transport.bearerToken?.();
  const certificate = currentCredentials(transport).clientCertificate?.certificate;
  const validity = token !== undefined ? validityOfToken(token) : validityOfCertificate(certificate ?? "");
  const what = token !== undefined ? "token" : "client certificate";
  const renewal =
    token !== undefined
      ? "get a new one with signet token create"
      : "get a new kubeconfig with signet kubeconfig --user, or copy the server's admin.kubeconfig again, which it renews";
  const serverTime = Date.parse(serverDate ?? "");
  const time = Number.isNaN(serverTime) ? now : serverTime;
  if (validity.until !== undefined && validity.until <= time) {
    return `the ${what} expired at ${timestamp(validity.until)}; ${renewal}`;
  }
  if (Math.abs(time - now) > tolerableSkewMilliseconds) {
    return `this machine's clock says ${timestamp(now)} and the server's ${timestamp(time)}; set the clock that is wrong`;
  }
  if (validity.from !== undefined && validity.from > time) {
    return `the ${what} is not valid before ${timestamp(validity.from)}; check the clock of the server`;
  }
  if (token === undefined && certificate === undefined) {
    return "the kubeconfig has no credentials that signet can use; name another --context, or give --token";
  }
  return `it does not accept the ${what}, which may be of another server, or of someone who was deleted; ${renewal}`;
}

interface Validity {
  readonly from?: number;
  readonly until?: number;
}

/** The times of a JWT (RFC 7519 4.1), unverified, because they are only shown. Other tokens have none. */
function validityOfToken(token: string): Validity {
  const claims = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
  const { nbf, exp } = parseJsonObject(claims) ?? {};
  return {
    ...(isTime(nbf) && { from: nbf * 1000 }),
    ...(isTime(exp) && { until: exp * 1000 }),
  };
}

const isTime = (value: unknown): value is number => typeof value === "number" && Math.abs(value) < 1e11;

function validityOfCertificate(pem: string): Validity {
  const certificates = orPkiError(() => parseCertificatesPem(pem));
  const [certificate] = certificates instanceof PkiError ? [] : certificates;
  return certificate === undefined ? {} : { from: certificate.notBefore, until: certificate.notAfter };
}
