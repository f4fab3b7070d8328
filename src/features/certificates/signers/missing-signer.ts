import { kubernetesNames, platformNames } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { RunningSigners } from "./running-signers.ts";
import { findWellKnownSigner, wellKnownSigners } from "./well-known-signers.ts";

/** Why nobody here signs for a signer. */
export interface MissingSigner {
  /** Whether a program elsewhere may sign: it gets some time before anybody is told. */
  readonly mayRunElsewhere: boolean;
  /** What is wrong, and what to do. */
  readonly message: string;
}

export interface MissingSignerOptions {
  readonly names: Names;
  readonly signers: RunningSigners;
  /** Whether the loop `csrsigning` runs in this process. */
  readonly isSigning: boolean;
}

/** Why nothing here signs for a signer name; undefined when something does. */
export function missingSigner(
  signerName: string,
  { names, signers, isSigning }: MissingSignerOptions,
): MissingSigner | undefined {
  const runsHere = signers.find(signerName) !== undefined;
  if (runsHere && isSigning) return undefined;
  const quoted = JSON.stringify(signerName);
  if (runsHere) {
    const message = `the controller csrsigning is switched off: take -csrsigning out of --controllers, or start it elsewhere with signet controllers`;
    return { mayRunElsewhere: true, message };
  }
  const wellKnown = findWellKnownSigner(names, signerName);
  if (wellKnown !== undefined) {
    const flag = `--cluster-signing-${wellKnown.shortName}`;
    const message = `the signer ${quoted} has no CA here: give ${flag}-cert-file and ${flag}-key-file`;
    return { mayRunElsewhere: !isSigning, message };
  }
  if (signers.names().includes(signerName)) {
    const message = `the CA of the signer ${quoted} is one whose client certificates authenticate: give the signer a CA of its own in --signer-config`;
    return { mayRunElsewhere: false, message };
  }
  const domain = signerName.split("/", 1)[0] ?? "";
  if (domain === names.domain || domain.endsWith(`.${names.domain}`)) {
    const known = wellKnownSigners.map((signer) => signer.nameIn(names)).join(", ");
    return { mayRunElsewhere: false, message: `there is no signer ${quoted}; in ${names.domain} there are ${known}` };
  }
  const others = names.profile === platformNames.profile ? kubernetesNames : platformNames;
  const meant = findWellKnownSigner(others, signerName);
  if (meant !== undefined) {
    const message = `this server has the names of the profile ${names.profile}: make a request for ${meant.nameIn(names)}`;
    return { mayRunElsewhere: false, message };
  }
  const message = `no signer ${quoted} runs here, and no other program has signed: start that program, or add the signer to --signer-config`;
  return { mayRunElsewhere: true, message };
}
