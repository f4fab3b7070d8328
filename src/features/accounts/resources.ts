import { resourceType } from "../../machinery/api/resource-type.ts";
import type { ServiceAccount } from "./service-accounts.ts";

export const serviceAccountResource = resourceType<ServiceAccount>({
  group: "",
  kind: "ServiceAccount",
  scope: "Namespaced",
});
