import { Counter, Gauge, Registry } from "prom-client";

/** The agent's metrics in the text format of Prometheus. Label values are fixed, or set by the operator. */
export class AgentMetrics {
  readonly #registry = new Registry();
  readonly #expiration = new Gauge({
    name: "signet_agent_certificate_expiration_timestamp_seconds",
    help: "When the certificate in use ends, in seconds since the epoch.",
    labelNames: ["certificate"],
    registers: [this.#registry],
  });
  readonly #rotations = new Counter({
    name: "signet_agent_certificates_installed_total",
    help: "Certificates that were obtained and put to use.",
    labelNames: ["certificate"],
    registers: [this.#registry],
  });
  readonly #failures = new Counter({
    name: "signet_agent_certificate_failures_total",
    help: "Tries to obtain a certificate that came to nothing.",
    labelNames: ["certificate"],
    registers: [this.#registry],
  });
  readonly #heartbeats = new Counter({
    name: "signet_agent_lease_renewals_total",
    help: "Renewals of the node's Lease, by result.",
    labelNames: ["result"],
    registers: [this.#registry],
  });
  readonly #anchors = new Gauge({
    name: "signet_agent_trust_bundle_anchors",
    help: "Trust anchors that the server has for a file.",
    labelNames: ["file"],
    registers: [this.#registry],
  });
  readonly #skew = new Gauge({
    name: "signet_agent_server_clock_skew_seconds",
    help: "How far the server's clock is ahead of this machine's; 0 within half a minute.",
    registers: [this.#registry],
  });

  /** Times are milliseconds since the epoch. */
  certificateInUse(certificate: string, { notAfter }: { readonly notAfter: number }): void {
    this.#expiration.set({ certificate }, notAfter / 1000);
  }

  certificateInstalled(certificate: string): void {
    this.#rotations.inc({ certificate });
  }

  certificateFailed(certificate: string): void {
    this.#failures.inc({ certificate });
  }

  leaseRenewal(result: "success" | "failure"): void {
    this.#heartbeats.inc({ result });
  }

  trustBundle(file: string, anchors: number): void {
    this.#anchors.set({ file }, anchors);
  }

  clockSkew(milliseconds: number): void {
    this.#skew.set(milliseconds / 1000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
