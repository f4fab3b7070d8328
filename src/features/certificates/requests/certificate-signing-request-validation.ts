import { minimumExpirationSeconds } from "../requested-lifetime.ts";
import { ownSignerName, signerNames } from "../signer-names.ts";
import { NamedText } from "../../../machinery/api/text/format-value.ts";
import {
  duplicate,
  forbiddenField,
  invalidValue,
  required,
  validateChoice,
} from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import type { KindFault } from "../../../machinery/registry/definition/kind-faults.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { checkRequestSignatureInThreadPool, parseRequestField } from "../../../pki/requests/certificate-request.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { keyUsages } from "./certificate-signing-request-schema.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "./certificate-signing-request-schema.ts";
import { faultOfIssuedText } from "./issued-text.ts";
import { validateSignerName } from "../signer-name-validation.ts";

/** Conditions that cannot be removed, and can only be True. */
const lastingTypes = ["Approved", "Denied", "Failed"];
const approvalTypes = ["Approved", "Denied"];

/**
 * Checks the signature of a new request in the thread pool. The result is a function that returns every fault. Usages may be empty: the
 * signer decides whether to accept that.
 */
export async function startRequestValidation(
  { spec }: CertificateSigningRequest,
  names: Names,
): Promise<() => FieldError[]> {
  const requestFault = await faultOfRequest(spec.request ?? "");
  return () => validateSpec(spec, { names, requestFault });
}

function validateSpec(
  { request, signerName, usages = [], expirationSeconds }: CertificateSigningRequest["spec"],
  { names, requestFault }: { readonly names: Names; readonly requestFault: string | undefined },
): FieldError[] {
  const faults: FieldError[] = [];
  if (requestFault !== undefined) faults.push(invalidValue("spec.request", { value: request, detail: requestFault }));
  faults.push(...validateUsages(usages));
  if (ownSignerName(names, signerName) === signerNames.legacyUnknown(names)) {
    const detail = "the legacy signerName is not allowed via this API version";
    faults.push(invalidValue("spec.signerName", { value: signerName, detail }));
  } else faults.push(...validateSignerName(signerName, "spec.signerName"));
  if (expirationSeconds !== undefined && expirationSeconds < minimumExpirationSeconds) {
    const detail = `may not specify a duration less than ${minimumExpirationSeconds} seconds (${minimumExpirationSeconds / 60} minutes)`;
    faults.push(invalidValue("spec.expirationSeconds", { value: expirationSeconds, detail }));
  }
  return faults;
}

/** Why the PEM is not a request that is signed with its own key, or undefined. */
async function faultOfRequest(base64: string): Promise<string | undefined> {
  try {
    await checkRequestSignatureInThreadPool(parseRequestField(base64));
    return undefined;
  } catch (error) {
    if (error instanceof PkiError) return error.message;
    throw error;
  }
}

function validateUsages(usages: readonly string[]): FieldError[] {
  const unknown = usages.flatMap((value, index) =>
    validateChoice(`spec.usages[${index}]`, { value, supported: keyUsages }),
  );
  const seen = new Set<string>();
  const doubles = usages.flatMap((usage, index) => {
    if (seen.has(usage)) return [duplicate(`spec.usages[${index}]`, new NamedText(usage))];
    seen.add(usage);
    return [];
  });
  return [...unknown, ...doubles];
}

/** Reads a new certificate in turns of the event loop. The result is a function that returns every fault of the changed status. */
export async function startStatusValidation(
  next: CertificateSigningRequest,
  { previous, user }: { readonly previous: CertificateSigningRequest; readonly user: UserInfo },
): Promise<() => KindFault[]> {
  const { certificate = "" } = next.status;
  const isNew = certificate !== "" && certificate !== previous.status.certificate;
  const certificateFault = isNew ? await faultOfIssuedText(certificate, user) : undefined;
  return () => validateStatusChange(next, { previous, subresource: "status", certificateFault });
}

interface StatusChange {
  readonly previous: CertificateSigningRequest;
  /** The subresource of the write: `approval` may decide, `status` may issue. */
  readonly subresource: "approval" | "status";
  /** Why a new certificate may not be written. */
  readonly certificateFault?: string | undefined;
}

/**
 * Returns every fault of a changed status. The stored spec is not validated again: its signature was checked when the request was created.
 */
export function validateStatusChange(
  next: CertificateSigningRequest,
  { previous, subresource, certificateFault }: StatusChange,
): KindFault[] {
  const conditions = next.status.conditions ?? [];
  const before = previous.status.conditions ?? [];
  const certificate = next.status.certificate ?? "";
  const issued = previous.status.certificate ?? "";
  const faults: KindFault[] = ["metadata", ...validateConditions(conditions)];
  if (certificateFault !== undefined)
    faults.push(invalidValue("status.certificate", { value: "<certificate data>", detail: certificateFault }));
  for (const type of lastingTypes)
    if (countOf(conditions, type) < countOf(before, type))
      faults.push(forbiddenConditions(`updates may not remove a condition of type ${JSON.stringify(type)}`));
  for (const type of subresource === "approval" ? [] : approvalTypes)
    if (countOf(conditions, type) > countOf(before, type))
      faults.push(forbiddenConditions(`updates may not add a condition of type ${JSON.stringify(type)}`));
  if (certificate !== issued && issued !== "")
    faults.push(forbiddenField("status.certificate", "updates may not modify existing certificate content"));
  faults.push("metadata change");
  return faults;
}

const forbiddenConditions = (detail: string): FieldError => forbiddenField("status.conditions", detail);

function countOf(conditions: readonly CertificateSigningRequestCondition[], type: string): number {
  let count = 0;
  for (const one of conditions) if (one.type === type) count += 1;
  return count;
}

function validateConditions(conditions: readonly CertificateSigningRequestCondition[]): FieldError[] {
  const seen = new Set<string>();
  const faults: FieldError[] = [];
  for (const [index, condition] of conditions.entries()) {
    const { type } = condition;
    const field = `status.conditions[${index}]`;
    const opposite = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (type === "") faults.push(required(`${field}.type`, ""));
    faults.push(...validateConditionStatus(condition, field));
    if (opposite !== undefined && seen.has(opposite)) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      faults.push(invalidValue("status.conditions", { value: new NamedText(type), detail }));
    }
    if (seen.has(type)) faults.push(duplicate(`${field}.type`, new NamedText(type)));
    seen.add(type);
  }
  return faults;
}

function validateConditionStatus({ type, status }: CertificateSigningRequestCondition, field: string): FieldError[] {
  if (status === "") return [required(`${field}.status`, "")];
  const supported = lastingTypes.includes(type) ? ["True"] : ["False", "True", "Unknown"];
  return validateChoice(`${field}.status`, { value: status, supported });
}
