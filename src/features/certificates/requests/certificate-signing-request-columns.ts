import type { Names } from "../../../machinery/api/names.ts";
import { ageColumn, nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { humanDuration } from "../../../machinery/registry/definition/human-duration.ts";
import type { Column } from "../../../machinery/registry/definition/resource-definition.ts";
import { signerNames } from "../signer-names.ts";
import { certificateRequestSummary } from "./certificate-request-state.ts";
import type { CertificateSigningRequest } from "./certificate-signing-request-schema.ts";

/** The columns of requests in tables (upstream: `printCertificateSigningRequest`). */
export const certificateSigningRequestColumns = (names: Names): readonly Column<CertificateSigningRequest>[] => [
  nameColumn(names),
  ageColumn(names),
  {
    name: "SignerName",
    description:
      "Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:\n" +
      ` 1. If it's a kubelet client certificate, it is assigned\n    "${signerNames.apiserverClientNodeAgent(names)}".\n` +
      ` 2. If it's a kubelet serving certificate, it is assigned\n    "${signerNames.nodeAgentServing(names)}".\n` +
      ` 3. Otherwise, it is assigned "${signerNames.legacyUnknown(names)}".\n` +
      "Distribution of trust for signers happens out of band. You can select on this field using `spec.signerName`.",
    cell: ({ spec }) => (spec.signerName === "" ? "<none>" : spec.signerName),
  },
  {
    name: "Requestor",
    description: "Base64-encoded PKCS#10 CSR data",
    cell: ({ spec }) => spec.username ?? "",
  },
  {
    name: "RequestedDuration",
    description:
      "expirationSeconds is the requested duration of validity of the issued certificate. The certificate signer may issue a certificate with a different validity duration so a client must check the delta between the notBefore and and notAfter fields in the issued certificate to determine the actual duration.\n\n" +
      "The v1.22+ in-tree implementations of the well-known Kubernetes signers will honor this field as long as the requested duration is not greater than the maximum duration they will honor per the --cluster-signing-duration CLI flag to the Kubernetes controller manager.\n\n" +
      "Certificate signers may not honor this field for various reasons:\n\n" +
      "  1. Old signer that is unaware of the field (such as the in-tree\n     implementations prior to v1.22)\n" +
      "  2. Signer whose configured maximum is shorter than the requested duration\n" +
      "  3. Signer whose configured minimum is longer than the requested duration\n\n" +
      "The minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
    cell: ({ spec }) =>
      spec.expirationSeconds === undefined ? "<none>" : humanDuration(spec.expirationSeconds * 1000),
  },
  {
    name: "Condition",
    description: "Conditions applied to the request, such as approval or denial.",
    cell: certificateRequestSummary,
  },
];
