import type { Names } from "../../machinery/api/names.ts";
import type { ControllerOptions } from "../../server/controller-flags.ts";
import { certificateInventory } from "./inventory/certificate-inventory.ts";
import { certificateRecordCleaner } from "./inventory/certificate-record-cleaner.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { csrApproving } from "./requests/csr-approving.ts";
import { csrCleaner } from "./requests/csr-cleaner.ts";
import { csrPolicyApproving, identityOf } from "./policy/csr-policy-approving.ts";
import { csrSigning } from "./signers/csr-signing.ts";
import { wellKnownSigners } from "./signers/well-known-signers.ts";
import { trustBundlePublisher } from "./bundles/trust-bundle-publisher.ts";
import type { ApprovalPolicy } from "./policy/approval-policy.ts";
import { isDecidedByPolicy } from "./policy/decide-approval.ts";
import type { ServerIdentity } from "./signers/server-identity.ts";
import type { AuthorityFor } from "./authorities/signing-authorities.ts";

const policyIntervalMilliseconds = 10_000;
const bundleIntervalMilliseconds = 10_000;
const recordIntervalMilliseconds = 3_600_000;

export interface CertificateControllersOptions {
  readonly options: ControllerOptions;
  readonly names: Names;
  readonly policy: (() => ApprovalPolicy) | undefined;
  readonly authorityFor: AuthorityFor;
  /** How clients know the API server. Throws while it is not known. */
  readonly server: () => ServerIdentity;
}

/** The loops for certificates: approval, signing, cleaning, inventory, trust bundles. */
export function certificateControllers(given: CertificateControllersOptions): Controller[] {
  const { options, names, policy, authorityFor, server } = given;
  const maximumLifetimeSeconds = Math.floor(options["cluster-signing-duration"] / 1000);
  return [
    csrApproving({
      isLeftToPolicy: (request) => policy !== undefined && isDecidedByPolicy(policy(), identityOf(request)),
    }),
    ...(policy === undefined
      ? []
      : [
          csrPolicyApproving({
            policy,
            serverNames: () => server().names,
            maximumLifetimeSeconds,
            intervalMilliseconds: policyIntervalMilliseconds,
          }),
        ]),
    csrSigning({ authorityFor, server, maximumLifetimeSeconds }),
    csrCleaner,
    certificateInventory,
    certificateRecordCleaner({
      retentionMilliseconds: options["issued-certificate-retention"],
      intervalMilliseconds: recordIntervalMilliseconds,
    }),
    trustBundlePublisher({
      signerNames: wellKnownSigners.map((signer) => signer.nameIn(names)),
      anchorsFor: (signerName) => authorityFor(signerName)?.anchors ?? [],
      overlapMilliseconds: options["cluster-signing-duration"],
      intervalMilliseconds: bundleIntervalMilliseconds,
    }),
  ];
}
