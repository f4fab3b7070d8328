import { clusterTrustBundleResource, latestRecall, signerNames } from "../../features/certificates/resources.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import type { NodeParts } from "../agent-parts.ts";
import type { FailureLog } from "../failure-log.ts";
import { checkRevocation } from "./check-revocation.ts";
import { bundleSelector, isFrom, mostBundles } from "../files/trust-bundle-follower.ts";

/** Asks the server which of the agent's certificates were recalled by their signers or revoked, and tells the managers of these. */
export class WithdrawnCertificates {
  readonly #parts: NodeParts;
  readonly #recallOutage: FailureLog;
  readonly #revocationOutage: FailureLog;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    const outageOf = (word: string): FailureLog =>
      parts.failureLog({
        failure: `could not look whether certificates are ${word}`,
        recovery: `looked again whether certificates are ${word}`,
      });
    this.#revocationOutage = outageOf("revoked");
    this.#recallOutage = outageOf("recalled");
  }

  /**
   * Never rejects: a failure changes nothing, and the next call asks again. A failure after `signal` has aborted does not count, because the
   * agent has closed its connections.
   */
  async check(signal: AbortSignal): Promise<void> {
    await this.#checkRecalls(signal);
    await this.#checkRevocations(signal);
  }

  async #checkRecalls(signal: AbortSignal): Promise<void> {
    const { names, client, serving, services } = this.#parts;
    const certificates = [
      { signerName: signerNames.apiserverClientNodeAgent(names), manager: client.manager },
      { signerName: signerNames.nodeAgentServing(names), manager: serving.manager },
      ...services.map(({ service, manager }) => ({ signerName: service.signerName, manager })),
    ];
    let hasFailed = false;
    for (const signerName of new Set(certificates.map((one) => one.signerName))) {
      try {
        const issuedBefore = await this.#recallOf(signerName);
        for (const one of certificates) if (one.signerName === signerName) one.manager.recall(issuedBefore);
      } catch (error) {
        if (signal.aborted) return;
        hasFailed = true;
        this.#recallOutage.failed(error, { signerName });
      }
    }
    if (!hasFailed) this.#recallOutage.succeeded();
  }

  /** Like `latestRecall`. 0 also when the server has no bundles for this agent. Rejects when the server does not answer. */
  async #recallOf(signerName: string): Promise<number> {
    const { names, identity, serverClock } = this.#parts;
    const source = { signerName };
    const bundles = identity.connection.node.resource(clusterTrustBundleResource(names));
    const list = bundles.listMetadata({ fieldSelector: bundleSelector(source), limit: mostBundles });
    const found = (await ignoreCodes([403, 404], list)) ?? [];
    return latestRecall(found.filter(isFrom(source, names)), { names, now: serverClock.now() });
  }

  /** Does not ask about the client certificate, because the server refuses that itself when it is revoked. */
  async #checkRevocations(signal: AbortSignal): Promise<void> {
    const { names, identity, serving, services } = this.#parts;
    try {
      for (const { manager } of [serving, ...services]) {
        await checkRevocation(manager, { names, client: identity.connection.node });
      }
      this.#revocationOutage.succeeded();
    } catch (error) {
      if (!signal.aborted) this.#revocationOutage.failed(error);
    }
  }
}
