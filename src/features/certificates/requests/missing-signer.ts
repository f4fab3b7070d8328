import { isWithinDomain } from "../../../machinery/api/addresses/is-within-domain.ts";
import { kubernetesNames, platformNames, spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { signerDomain } from "../signer-names.ts";
import type { RunningSigners } from "../signers/running-signers.ts";
import { findWellKnownSigner, wellKnownSigners } from "../signers/well-known-signers.ts";

/** Why no signer with a name runs in this process. */
interface MissingSigner {
  /** Whether an external signer may exist. It gets some time before the request is reported. */
  readonly mayRunElsewhere: boolean;
  /** What is wrong, and what to do next. */
  readonly message: string;
}

/** The signers of this process. */
export interface SigningHere {
  readonly signers: RunningSigners;
  /** Whether the controller `csrsigning` runs in this process. */
  readonly isSigning: boolean;
}

/** Why no signer with this name runs here. Undefined when one does. */
export function missingSigner(
  signerName: string,
  { names, signers, isSigning }: SigningHere & { readonly names: Names },
): MissingSigner | undefined {
  const runsHere = signers.find(signerName) !== undefined;
  if (runsHere && isSigning) return undefined;
  const quoted = JSON.stringify(signerName);
  if (runsHere) {
    const message = `the controller csrsigning is disabled: remove -csrsigning from --controllers, or run it in another process with signet controllers`;
    return { mayRunElsewhere: true, message };
  }
  const wellKnown = findWellKnownSigner(names, signerName);
  if (wellKnown !== undefined) {
    const flag = `--cluster-signing-${wellKnown.shortName}`;
    const message = `the signer ${quoted} has no CA here: set ${flag}-cert-file and ${flag}-key-file`;
    return { mayRunElsewhere: !isSigning, message };
  }
  if (signers.names().includes(signerName)) {
    const message = `the signer ${quoted} is disabled, because the API server trusts its CA for client certificates, or the log says why this is not known: set another CA for it in --signer-config`;
    return { mayRunElsewhere: false, message };
  }
  const ownDomains = spellingsOf(names, (one) => one.domain);
  if (ownDomains.some((own) => isWithinDomain(signerDomain(signerName), own))) {
    const known = wellKnownSigners.map((signer) => signer.nameIn(names)).join(", ");
    return { mayRunElsewhere: false, message: `there is no signer ${quoted}: create a request for one of ${known}` };
  }
  const others = names.profile === platformNames.profile ? kubernetesNames : platformNames;
  const meant = findWellKnownSigner(others, signerName);
  if (meant !== undefined) {
    const message = `this server uses the naming profile ${names.profile}: create a request for ${meant.nameIn(names)}`;
    return { mayRunElsewhere: false, message };
  }
  const message = `no signer ${quoted} runs here, and no external signer has signed: start the external signer, or add the signer to --signer-config`;
  return { mayRunElsewhere: true, message };
}
