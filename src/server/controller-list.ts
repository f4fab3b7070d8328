import { accessControllers } from "../features/access/feature.ts";
import { accountControllers } from "../features/accounts/feature.ts";
import type { AccountControllersOptions } from "../features/accounts/feature.ts";
import { certificateControllers } from "../features/certificates/feature.ts";
import type { CertificateSettings } from "../features/certificates/settings.ts";
import type { ApprovalPolicy } from "../features/certificates/policy/approval-policy.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";
import { coreControllers } from "../features/core/feature.ts";
import { nodeControllers } from "../features/nodes/feature.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ResourceType } from "../machinery/api/resource-type.ts";
import type { Controller } from "../machinery/loops/controller.ts";
import type { ControllerOptions } from "./controller-flags.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import type { RunningSigners } from "../features/certificates/signers/running-signers.ts";

export interface ControllerListOptions extends AccountControllersOptions {
  readonly options: Pick<ControllerOptions, "controllers">;
  readonly certificates: CertificateSettings;
  readonly names: Names;
  readonly definitions: readonly ResourceType[];
  readonly signers: RunningSigners;
  readonly policy: (() => ApprovalPolicy) | undefined;
  /** How clients know the API server. Throws while it is not known. */
  readonly server: () => ServerIdentity;
}

/** The loops that `--controllers` switches on. Throws UsageError for a name that no loop has. */
export function controllerList(given: ControllerListOptions): Controller[] {
  const enabled = enabledControllers(given.options.controllers);
  return everyController(given).filter(({ name }) => enabled.has(name));
}

const everyController = (given: ControllerListOptions): Controller[] => [
  ...coreControllers(given.definitions),
  ...accountControllers(given),
  ...accessControllers(),
  ...certificateControllers({
    ...given,
    settings: given.certificates,
    isSigning: enabledControllers(given.options.controllers).has("csrsigning"),
  }),
  ...nodeControllers,
];
