import { goQuoted } from "../../machinery/api/text/format-value.ts";
import { invalidValue, invalidValues, required, tooLong } from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import {
  dnsLabelFaults,
  dnsSubdomainFaults,
  maximumLabelLength,
  maximumSubdomainLength,
} from "../../machinery/api/validation/name-validation.ts";

/** The maximum length in bytes: a domain, a slash, a label, a dot and a subdomain. */
const maximumSignerNameLength = maximumSubdomainLength + 1 + maximumLabelLength + 1 + maximumSubdomainLength;

/** Returns every fault of a signer's name, such as `example.com/signer-name` (upstream: `ValidateSignerName`). */
export function validateSignerName(signerName: string, field: string): FieldError[] {
  if (signerName === "") return [required(field, "")];
  const [domain = "", path, rest] = signerName.split("/", 3);
  if (path === undefined || rest !== undefined) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(field, { value: signerName, detail })];
  }
  const faults: FieldError[] = [];
  const domainLabels = domain.split(".");
  if (Buffer.byteLength(domain) > maximumSubdomainLength) faults.push(tooLong(field, maximumSubdomainLength));
  faults.push(...invalidValues(field, { value: domain, details: firstBadLabel(domainLabels, dnsLabelFaults) }));
  if (domainLabels.length < 2) {
    const detail = "should be a domain with at least two segments separated by dots";
    faults.push(invalidValue(field, { value: domain, detail }));
  }
  faults.push(...invalidValues(field, { value: path, details: firstBadLabel(path.split("."), dnsSubdomainFaults) }));
  if (Buffer.byteLength(signerName) > maximumSignerNameLength) faults.push(tooLong(field, maximumSignerNameLength));
  return faults;
}

/** The faults of the first invalid label only: those of the others would be the same. */
function firstBadLabel(labels: readonly string[], faultsOf: (label: string) => string[]): string[] {
  for (const label of labels) {
    const faults = faultsOf(label);
    if (faults.length > 0) return faults.map((fault) => `validating label ${goQuoted(label)}: ${fault}`);
  }
  return [];
}
