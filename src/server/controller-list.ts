import { accessControllers } from "../features/access/feature.ts";
import { accountControllers } from "../features/accounts/feature.ts";
import type { AccountControllersOptions } from "../features/accounts/feature.ts";
import { certificateControllers } from "../features/certificates/feature.ts";
import type { ApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";
import { coreControllers } from "../features/core/feature.ts";
import { nodeControllers } from "../features/nodes/feature.ts";
import { revocationControllers } from "../features/revocation/feature.ts";
import { serviceAccountResource } from "../features/accounts/resources.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ServedType } from "../machinery/registry/served-definitions.ts";
import type { Controller } from "../machinery/loops/controller.ts";
import type { ControllerSettings } from "./controller-settings.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { RunningSigners } from "../features/certificates/signers/running-signers.ts";

export interface ControllerListOptions extends AccountControllersOptions {
  readonly settings: ControllerSettings;
  readonly names: Names;
  readonly definitions: readonly ServedType[];
  readonly signers: RunningSigners;
  readonly policy: (() => ApprovalPolicy) | undefined;
  /** The publisher of revocation lists. Undefined without `--revocation-url`. */
  readonly listPublisher: Controller | undefined;
  /** The names and CAs of the API server. Throws while they are not known. */
  readonly server: () => ServerIdentity;
  /** The CAs that clients verify the server with. Undefined where they are not this process's to publish. */
  readonly serverAnchors: (() => readonly Certificate[]) | undefined;
  /** Whether a CA of a signer was retired by command. */
  isRetired(anchor: Certificate): boolean;
}

/** The enabled controllers. */
export const controllerList = (given: ControllerListOptions): Controller[] =>
  everyController(given).filter(({ name }) => given.settings.enabled.has(name));

const everyController = (given: ControllerListOptions): Controller[] => [
  ...coreControllers(given.definitions),
  ...accountControllers(given),
  ...accessControllers(),
  ...certificateControllers({
    ...given,
    settings: given.settings.certificates,
    isSigning: given.settings.enabled.has("csrsigning"),
  }),
  ...nodeControllers(given.settings.nodes),
  ...revocationControllers(serviceAccountResource),
];
