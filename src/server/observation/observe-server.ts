import type { Log } from "../../machinery/logging/log.ts";
import { Registry } from "prom-client";
import type { ConfiguredSigner } from "../../features/certificates/signers/signer-configuration.ts";
import { findWellKnownSigner, wellKnownSigners } from "../../features/certificates/signers/well-known-signers.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import { rateLimitedReport } from "../../machinery/logging/rate-limited-report.ts";
import type { ObservedAuthentication } from "../../machinery/authentication/create-authentication.ts";
import type { OutsideKeyObserver } from "../../machinery/keys/outside-keys.ts";
import { QueueCounts } from "../../machinery/loops/work-queue.ts";
import type { ReviewToken } from "../../machinery/authentication/token-authentication.ts";
import type { AnsweredRequest } from "../../machinery/http/request-lifecycle.ts";
import type { ObservedWrite } from "../../machinery/registry/resource-registry.ts";
import { refusedWriteText } from "../../machinery/registry/stored/store-failures.ts";
import type { QuotaHolder } from "../../machinery/registry/storage-quota.ts";
import type { StoreUnavailable } from "../../machinery/storage/store.ts";
import type { AuthorizationObserver } from "../../features/authorization/feature.ts";
import type { PolicyObserver } from "../../features/admission/feature.ts";
import { policyObserver } from "./policy-observer.ts";
import { outsideKeyObserver } from "./outside-key-observer.ts";
import { authorizationObserver } from "./authorization-observer.ts";
import { authenticationObserver, countedReviews } from "./authentication-observer.ts";
import { writeObserver } from "./write-observer.ts";
import { domainCounters } from "./domain-counters.ts";

interface ServerObservationOptions {
  readonly names: Names;
  readonly log: Log;
  readonly clock: Clock;
  /** The present signers of `--signer-config`. */
  readonly configuredSigners: () => readonly ConfiguredSigner[];
}

/** The observers of everything that the server decides. They write log lines and metrics. */
export interface ServerObservation {
  readonly registry: Registry;
  onWritten(write: ObservedWrite): void;
  onRefused(error: StoreUnavailable): void;
  onQuotaExceeded(holder: QuotaHolder): void;
  onAuthenticated(observed: ObservedAuthentication): void;
  onAnswered(answered: AnsweredRequest): void;
  counted(review: ReviewToken): ReviewToken;
  readonly authorization: AuthorizationObserver;
  readonly outsideKeys: OutsideKeyObserver;
  /** The counts of the loops' queues. */
  readonly queueCounts: QueueCounts;
  readonly policies: PolicyObserver;
  /** The label of a signer's name: one of the signers that the server knows, or `other`. */
  signerLabel(signerName: string): string;
}

export function observeServer(options: ServerObservationOptions): ServerObservation {
  const { names, log, clock, configuredSigners } = options;
  const registry = new Registry();
  const wellKnownNames = wellKnownSigners.map((signer) => signer.nameIn(names));
  const otherSigners = "other";
  const counters = domainCounters(registry, () => [
    ...wellKnownNames,
    ...configuredSigners().map(({ name }) => name),
    otherSigners,
  ]);
  const queueCounts = new QueueCounts();
  const reportExceededQuota = rateLimitedReport(({ type, name }: QuotaHolder, count) =>
    log.warn(
      { [type]: name, refusedWrites: count },
      `as much is stored for a ${type} as may be: what would add to it is refused`,
    ),
  );
  // Clients choose the signer names of their requests: only known ones become labels.
  const signerLabel = (signerName: string): string =>
    findWellKnownSigner(names, signerName)?.nameIn(names) ??
    configuredSigners().find((signer) => signer.name === signerName)?.name ??
    otherSigners;
  return {
    registry,
    onWritten: writeObserver({ names, log, counters, signerLabel }),
    onRefused: rateLimitedReport((error, count) => log.error({ refusedWrites: count }, refusedWriteText(error))),
    onQuotaExceeded(holder) {
      counters.exceededQuotas.inc();
      reportExceededQuota(holder);
    },
    onAuthenticated: authenticationObserver({ log, clock, counters }),
    onAnswered({ info, isServed, response }) {
      if (!isServed || response.status !== 201 || info?.kind !== "resource") return;
      if (info.resource === "serviceaccounts" && info.subresource === "token") counters.tokensIssued.inc();
    },
    authorization: authorizationObserver(registry, clock),
    outsideKeys: outsideKeyObserver(registry, clock),
    queueCounts,
    policies: policyObserver(registry),
    signerLabel,
    counted: (review) => countedReviews(review, counters),
  };
}
