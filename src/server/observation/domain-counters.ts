import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { ObservedAuthentication } from "../../machinery/authentication/create-authentication.ts";
import { addCollectedMetric } from "../../machinery/http/metrics/collected-metric.ts";
import type { Sample } from "../../machinery/http/metrics/collected-metric.ts";

type Outcome = ObservedAuthentication["answer"]["outcome"];

export type DomainCounters = ReturnType<typeof domainCounters>;

/**
 * Counts what a server has done since its start, for its metrics. No value of a label may come from a request, so that the number of series
 * is bounded. The counters of signers begin at 0 for each of `signerLabels`, because Prometheus sees no increase in a series that begins
 * with the first failure.
 */
export function domainCounters(registry: Registry, signerLabels: () => Iterable<string>) {
  const ofSigners = (family: { readonly name: string; readonly help: string }): Counter<"signer"> =>
    new Counter({
      ...family,
      labelNames: ["signer"],
      registers: [registry],
      collect() {
        for (const signer of signerLabels()) this.inc({ signer }, 0);
      },
    });
  return {
    issued: ofSigners({ name: "signet_certificates_issued_total", help: "Certificates issued." }),
    denied: ofSigners({ name: "signet_certificate_requests_denied_total", help: "Certificate requests denied." }),
    failed: ofSigners({ name: "signet_certificate_requests_failed_total", help: "Certificate requests failed." }),
    tokensIssued: new Counter({
      name: "signet_tokens_issued_total",
      help: "Tokens issued by TokenRequest.",
      registers: [registry],
    }),
    tokenReviews: new Counter({
      name: "signet_token_reviews_total",
      help: "Tokens reviewed, by outcome.",
      labelNames: ["outcome"],
      registers: [registry],
    }),
    authentications: authenticationCounter(registry),
    exceededQuotas: new Counter({
      name: "signet_namespace_quota_refusals_total",
      help: "Writes that were refused because as much is stored for their namespace or user as may be.",
      registers: [registry],
    }),
  };
}

/** Counts authentications in plain numbers, because nearly every request has one. prom-client reads them only on a scrape. */
function authenticationCounter(registry: Registry) {
  const counts: Readonly<Record<Outcome, Map<string, number>>> = { authenticated: new Map(), refused: new Map() };
  addCollectedMetric(registry, {
    type: "counter",
    name: "signet_authentications_total",
    help: "Requests with a credential, by the credential that decided and its outcome.",
    labelNames: ["method", "outcome"],
    *read(): Generator<Sample<"method" | "outcome">> {
      for (const [outcome, byMethod] of Object.entries(counts))
        for (const [method, count] of byMethod) yield [{ method, outcome }, count];
    },
  });
  return {
    count(method: string, outcome: Outcome): void {
      counts[outcome].set(method, (counts[outcome].get(method) ?? 0) + 1);
    },
  };
}
