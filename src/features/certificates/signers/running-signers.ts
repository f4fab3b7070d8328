import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateTemplate } from "../../../pki/certificates/certificate-template.ts";
import type { AuthorityFor } from "../authorities/signing-authorities.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import type { RevocationSettings } from "../settings.ts";
import { certificateUrls } from "../status/addresses.ts";
import type { SignerLifetime } from "./configured-signer.ts";
import type { ConfiguredSigner } from "./signer-configuration.ts";
import type { SignerRules } from "./signer.ts";
import { findWellKnownSigner, wellKnownSigners } from "./well-known-signers.ts";

/** A signer with its current CA. */
export interface RunningSigner extends SignerRules {
  readonly authority: SigningAuthority;
  readonly lifetime: SignerLifetime;
  /** The revocation URLs of the signer's certificates. Undefined: none. */
  readonly revocationUrls: CertificateTemplate["revocationUrls"];
}

/** The signers of this process: the server's own and the configured ones. Their files may change, so call these functions for each use. */
export interface RunningSigners {
  /** Undefined: the signer does not run here, or has no CA. */
  find(signerName: string): RunningSigner | undefined;
  /** The lifetime of a signer's certificates. Unknown signers get the lifetime of the server's own signers. */
  lifetimeOf(signerName: string): SignerLifetime;
  /** All signers, including those without a CA. */
  names(): readonly string[];
}

export interface RunningSignersOptions {
  readonly names: Names;
  readonly authorityFor: AuthorityFor;
  readonly configured: () => readonly ConfiguredSigner[];
  /** `--cluster-signing-duration`, in seconds. */
  readonly maximumLifetimeSeconds: number;
  /** Undefined: certificates name no revocation URLs. */
  readonly revocation: (Pick<RevocationSettings, "url" | "isSharded"> & { readonly hasOcsp: boolean }) | undefined;
}

/**
 * The default lifetime of node certificates. A machine renews its certificate each day, so that stolen certificates, and those of locked
 * nodes, soon expire.
 */
const nodeLifetimeSeconds = 24 * 3600;

export function runningSigners(options: RunningSignersOptions): RunningSigners {
  const { names, authorityFor, configured, maximumLifetimeSeconds, revocation } = options;
  const ownNames = wellKnownSigners.map((signer) => signer.nameIn(names));
  const findConfigured = (signerName: string): ConfiguredSigner | undefined =>
    configured().find(({ name }) => name === signerName);
  const lifetimeOf = (signerName: string): SignerLifetime =>
    findConfigured(signerName)?.lifetime ?? {
      maximumSeconds: maximumLifetimeSeconds,
      defaultSeconds:
        findWellKnownSigner(names, signerName)?.certifies === "node"
          ? Math.min(nodeLifetimeSeconds, maximumLifetimeSeconds)
          : maximumLifetimeSeconds,
    };
  return {
    find(signerName) {
      const own = findWellKnownSigner(names, signerName);
      const configuredSigner = own === undefined ? findConfigured(signerName) : undefined;
      const rules = own ?? configuredSigner;
      const authority = configuredSigner === undefined ? authorityFor(signerName) : configuredSigner.authority();
      if (rules === undefined || authority === undefined) return undefined;
      const url = configuredSigner?.revocationUrl ?? revocation?.url ?? "";
      const hasUrls = revocation !== undefined && url !== "";
      return {
        authority,
        lifetime: lifetimeOf(signerName),
        faults: (request, usages) => rules.faults(request, usages),
        revocationUrls: hasUrls ? certificateUrls({ ...revocation, url, issuer: authority.certificate }) : undefined,
      };
    },
    lifetimeOf,
    names: () => [...ownNames, ...configured().map(({ name }) => name)],
  };
}
