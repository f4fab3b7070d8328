import type { CertificateSettings } from "./settings.ts";
import { certificateInventory, certificateRecordCleaner } from "./inventory/certificate-inventory.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { csrApproving } from "./requests/csr-approving.ts";
import type { Names } from "../../machinery/api/names.ts";
import { unsignedRequestReporter } from "./requests/unsigned-request-reporter.ts";
import { csrCleaner } from "./requests/csr-cleaner.ts";
import { csrPolicyApproving, identityOf } from "./policy/csr-policy-approving.ts";
import { csrSigning } from "./signers/csr-signing.ts";
import { trustBundlePublisher } from "./bundles/trust-bundle-publisher.ts";
import type { ApprovalPolicy } from "./policy/approval-policy.ts";
import { isDecidedByPolicy } from "./policy/decide-approval.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { signerNames } from "./signer-names.ts";
import type { ServerIdentity } from "./signers/server-identity.ts";
import type { RunningSigners } from "./signers/running-signers.ts";

export interface CertificateControllersOptions {
  readonly settings: Pick<CertificateSettings, "recordRetentionMilliseconds">;
  readonly names: Names;
  /** Whether `csrsigning` is enabled. */
  readonly isSigning: boolean;
  readonly policy: (() => ApprovalPolicy) | undefined;
  readonly signers: RunningSigners;
  /** `revocationListPublisher`, which is loaded only with `--revocation-url`. */
  readonly listPublisher: Controller | undefined;
  /** The names and CAs of the API server. Throws while they are not known. */
  readonly server: () => ServerIdentity;
  /** The CAs with which clients verify the server. Undefined when this process does not publish them. */
  readonly serverAnchors: (() => readonly Certificate[]) | undefined;
  /** Whether `signet ca retire` ended the trust in a signer's CA. */
  isRetired(anchor: Certificate): boolean;
}

/** The controllers for certificates: approval, signing, cleaning, inventory, trust bundles. */
export function certificateControllers(given: CertificateControllersOptions): Controller[] {
  const { settings, names, isSigning, policy, signers, listPublisher, server, serverAnchors, isRetired } = given;
  const serverSigner = signerNames.apiserverServing(names);
  return [
    csrApproving({
      isLeftToPolicy: (request) =>
        policy !== undefined && isDecidedByPolicy(identityOf(request), { policy: policy(), names }),
    }),
    ...(policy === undefined
      ? []
      : [
          csrPolicyApproving({
            policy,
            serverNames: () => server().names,
            lifetimeOf: (signerName) => signers.lifetimeOf(signerName),
          }),
        ]),
    csrSigning({ findSigner: (signerName) => signers.find(signerName), server }),
    csrCleaner,
    unsignedRequestReporter({ signers, isSigning }),
    certificateInventory,
    certificateRecordCleaner({ retentionMilliseconds: settings.recordRetentionMilliseconds }),
    ...(listPublisher === undefined ? [] : [listPublisher]),
    trustBundlePublisher({
      signerNames: () => [...signers.names(), ...(serverAnchors === undefined ? [] : [serverSigner])],
      anchorsFor: (signerName) =>
        signerName === serverSigner ? (serverAnchors?.() ?? []) : (signers.find(signerName)?.authority.anchors ?? []),
      isRetired,
      overlapMilliseconds: (signerName) => signers.lifetimeOf(signerName).maximumSeconds * 1000,
    }),
  ];
}
