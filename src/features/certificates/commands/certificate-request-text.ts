import type { SubjectAltNames } from "../../../pki/subject-alt-names.ts";
import type { CertificateRequestReport } from "./certificate-request-report.ts";
import { fieldsText } from "../../../machinery/command-line/fields-text.ts";
import type { TextField } from "../../../machinery/command-line/fields-text.ts";
import { printable } from "../../../machinery/command-line/printable.ts";

const namesOf = ({ dnsNames, ipAddresses, emailAddresses, uris }: SubjectAltNames): string[] => [
  ...dnsNames.map((name) => `DNS:${name}`),
  ...ipAddresses.map((address) => `IP:${address}`),
  ...emailAddresses.map((address) => `email:${address}`),
  ...uris.map((uri) => `URI:${uri}`),
];

/** The report for people. */
export function certificateRequestText(report: CertificateRequestReport): string {
  const { request, signerRules, warnings } = report;
  const rules = !signerRules.areKnown
    ? "unknown: the signer is not one of this server's"
    : signerRules.broken.length === 0
      ? "met"
      : "broken";
  const fields: TextField[] = [
    ["Name:", report.name],
    ["Created:", report.created],
    ["State:", report.state],
    ...report.conditions.map(({ type, reason = "", message = "" }) => [`  ${type}:`, `${reason}: ${message}`] as const),
    ["Requester:", report.requester.username],
    ["Groups:", report.requester.groups],
    ["Signer:", report.signerName],
    ["Signer's rules:", rules],
    ["Lifetime:", report.expirationSeconds === undefined ? "the signer's" : `${report.expirationSeconds} seconds`],
    ["Usages:", report.usages],
    ...(request === undefined
      ? []
      : ([
          ["Subject:", request.subject],
          ["Names:", namesOf(request.subjectAltNames)],
          ["Key:", request.key],
          ["Signature:", request.signatureAlgorithm],
          [
            "Extensions:",
            request.extensions.map(({ id, name, isCritical }) => `${name ?? id}${isCritical ? " (critical)" : ""}`),
          ],
        ] as const)),
    ["Warnings:", warnings.length === 0 ? "<none>" : ""],
  ];
  return [fieldsText(fields), ...warnings.map((warning) => `  ! ${printable(warning)}`)].join("\n");
}
