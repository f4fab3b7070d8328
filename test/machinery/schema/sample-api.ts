import { kubernetesNames } from "../../../src/machinery/api/names.ts";
import type { ApiDescription } from "../../../src/machinery/schema/openapi/openapi.ts";
import { certificateSigningRequest, lease, serviceAccount } from "./sample-kinds.ts";

/** A small API in upstream's names. */
export const sampleApi: ApiDescription = {
  names: kubernetesNames,
  version: "0.1.0",
  resources: [
    {
      group: "",
      version: "v1",
      kind: "ServiceAccount",
      plural: "serviceaccounts",
      scope: "Namespaced",
      schema: serviceAccount,
      subresources: {
        token: { type: "create", group: "coordination.k8s.io", version: "v1", kind: "Lease", schema: lease },
      },
    },
    {
      group: "certificates.k8s.io",
      version: "v1",
      kind: "CertificateSigningRequest",
      plural: "certificatesigningrequests",
      scope: "Cluster",
      schema: certificateSigningRequest,
      subresources: { approval: { type: "update" }, status: { type: "update" } },
    },
  ],
  reviews: [
    {
      group: "coordination.k8s.io",
      version: "v1",
      kind: "Lease",
      plural: "leases",
      scope: "Namespaced",
      schema: lease,
    },
  ],
};
