import { ApiError, forbidden } from "../api/api-error.ts";
import type { AdmissionAttributes } from "../api/attributes.ts";
import type { StatusCause } from "../api/status.ts";

/** A 403 for the object of a write (upstream: `admission.NewForbidden`). `message` follows "is forbidden: ". */
export function admissionForbidden(
  attributes: AdmissionAttributes,
  message: string,
  causes?: readonly StatusCause[],
): ApiError {
  const { askedGroup: group, resource, name, object } = attributes;
  // A name that is not generated yet is shown as its generateName.
  const shown = name || object?.metadata.name || object?.metadata.generateName || "Unknown";
  const error = forbidden({ group, resource }, shown, message);
  if (causes === undefined) return error;
  return new ApiError({
    code: error.code,
    message: error.message,
    ...(error.reason !== undefined && { reason: error.reason }),
    details: { ...error.details, causes },
  });
}
