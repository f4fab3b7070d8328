import { Counter } from "prom-client";
import type { Registry } from "prom-client";

export type DomainCounters = ReturnType<typeof domainCounters>;

/** What a server has done since it began, for its metrics. No value of a label may come from a request: that bounds their number. */
export const domainCounters = (registry: Registry) => ({
  issued: new Counter({
    name: "signet_certificates_issued_total",
    help: "Certificates issued.",
    labelNames: ["signer"],
    registers: [registry],
  }),
  denied: new Counter({
    name: "signet_certificate_requests_denied_total",
    help: "Certificate requests denied.",
    labelNames: ["signer"],
    registers: [registry],
  }),
  failed: new Counter({
    name: "signet_certificate_requests_failed_total",
    help: "Certificate requests failed.",
    labelNames: ["signer"],
    registers: [registry],
  }),
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
  authentications: new Counter({
    name: "signet_authentications_total",
    help: "Requests with a credential, by the credential that decided and its outcome.",
    labelNames: ["method", "outcome"],
    registers: [registry],
  }),
  exceededQuotas: new Counter({
    name: "signet_namespace_quota_refusals_total",
    help: "Writes that were refused because as much is stored for their namespace or user as may be.",
    registers: [registry],
  }),
});
