import { accessControllers } from "../../features/access/feature.ts";
import { accountControllers } from "../../features/accounts/feature.ts";
import type { AccountControllersOptions } from "../../features/accounts/feature.ts";
import { certificateControllers } from "../../features/certificates/feature.ts";
import type { CertificateControllersOptions } from "../../features/certificates/certificate-controllers.ts";
import { coreControllers } from "../../features/core/feature.ts";
import { nodeControllers } from "../../features/nodes/feature.ts";
import { revocationControllers } from "../../features/revocation/feature.ts";
import { serviceAccountResource } from "../../features/accounts/resources.ts";
import type { ServedType } from "../../machinery/registry/definition/resource-definition.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import type { ControllerSettings } from "../settings/controller-settings.ts";

interface ControllerListOptions
  extends AccountControllersOptions, Omit<CertificateControllersOptions, "settings" | "isSigning"> {
  readonly settings: ControllerSettings;
  readonly definitions: readonly ServedType[];
}

/** The enabled controllers. */
export const controllerList = (given: ControllerListOptions): Controller[] =>
  everyController(given).filter(({ name }) => given.settings.enabled.has(name));

const everyController = (given: ControllerListOptions): Controller[] => [
  ...coreControllers(given.definitions),
  ...accountControllers(given),
  ...accessControllers,
  ...certificateControllers({
    ...given,
    settings: given.settings.certificates,
    isSigning: given.settings.enabled.has("csrsigning"),
  }),
  ...nodeControllers(given.settings.nodes),
  ...revocationControllers(serviceAccountResource),
];
