import type { Authorize, AdmissionRule, AdmissionAttributes } from "../../machinery/api/attributes.ts";
import { goQuoted } from "../../machinery/api/text/format-value.ts";
import type { Names } from "../../machinery/api/names.ts";
import { andThen } from "../../machinery/api/maybe-promise.ts";
import type { MaybePromise } from "../../machinery/api/maybe-promise.ts";
import { mastersGroup } from "../../machinery/api/user-info.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import { admissionForbidden } from "../../machinery/registry/admission.ts";
import { isSemanticallyEqual } from "../../machinery/api/json/json-equality.ts";
import type { ApiObject } from "../../machinery/api/object-meta.ts";
import { isOnlyGarbageCollectionChange } from "../core/index.ts";
import { wasSentEmpty } from "../../machinery/schema/sent-empty.ts";
import { parseRequestField } from "../../pki/requests/certificate-request.ts";
import { orPkiError, PkiError } from "../../pki/pki-error.ts";
import type { CertificateSigningRequest, ClusterTrustBundle } from "./resources.ts";
import { signerDomain } from "./signer-names.ts";
import { findWellKnownSigner } from "./signers/well-known-signers.ts";

interface SignerRuleOptions {
  readonly names: Names;
  readonly authorize: Authorize;
}

/**
 * Every write to `approval`, even one that changes nothing, requires the permission to `approve` for the signer of the
 * stored request, whatever signer the body names (upstream: CertificateApproval).
 */
export const certificateApproval = (options: SignerRuleOptions): AdmissionRule => ({
  name: "CertificateApproval",
  appliesTo: (attributes) =>
    attributes.operation === "UPDATE" &&
    isOnSigningRequest(attributes, { names: options.names, subresource: "approval" }),
  validate(attributes) {
    const { oldObject } = attributes;
    if (oldObject === undefined) return;
    const { signerName } = asSigningRequest(oldObject).spec;
    return requireSignerPermission(options, { attributes, verb: "approve", signerName, what: "requests with" });
  },
});

/**
 * A write to `status` that changes the certificate or a condition requires the permission to `sign` for the signer of
 * the stored request (upstream: CertificateSigning).
 */
export const certificateSigning = (options: SignerRuleOptions): AdmissionRule => ({
  name: "CertificateSigning",
  appliesTo: (attributes) =>
    attributes.operation === "UPDATE" &&
    isOnSigningRequest(attributes, { names: options.names, subresource: "status" }),
  validate(attributes) {
    const { object, oldObject } = attributes;
    if (object === undefined || oldObject === undefined) return;
    const next = asSigningRequest(object).status;
    const { spec, status: previous } = asSigningRequest(oldObject);
    const isCertificateKept = next.certificate === previous.certificate && !wasSentEmpty(next, "certificate");
    if (isCertificateKept && isSemanticallyEqual(next.conditions, previous.conditions)) return;
    const { signerName } = spec;
    return requireSignerPermission(options, { attributes, verb: "sign", signerName, what: "requests with" });
  },
});

/** Writing a signer's bundle requires the permission to `attest` for the signer (upstream: ClusterTrustBundleAttest). */
export const clusterTrustBundleAttest = (options: SignerRuleOptions): AdmissionRule => ({
  name: "ClusterTrustBundleAttest",
  appliesTo: ({ group, resource }) =>
    resource === "clustertrustbundles" && group === options.names.group("certificates"),
  validate(attributes) {
    const { object, oldObject } = attributes;
    if (object === undefined) return;
    // The path determines the type. Validation makes signerName immutable, so the new one can be checked.
    const { signerName = "" } = (object as ClusterTrustBundle).spec;
    if (signerName === "") return;
    if (oldObject !== undefined && isOnlyGarbageCollectionChange(object, oldObject)) return;
    return requireSignerPermission(options, { attributes, verb: "attest", signerName, what: "for" });
  },
});

/**
 * Refuses requests for client certificates with the organization `system:masters`, because RBAC could not take away its permissions
 * (upstream: CertificateSubjectRestriction).
 */
export const certificateSubjectRestriction = ({ names }: { readonly names: Names }): AdmissionRule => ({
  name: "CertificateSubjectRestriction",
  appliesTo: (attributes) =>
    attributes.operation === "CREATE" && isOnSigningRequest(attributes, { names, subresource: "" }),
  validate(attributes) {
    const { object } = attributes;
    if (object === undefined) return;
    const { signerName, request } = asSigningRequest(object).spec;
    if (findWellKnownSigner(names, signerName)?.certifies !== "user") return;
    const parsed = orPkiError(() => parseRequestField(request ?? ""));
    if (parsed instanceof PkiError) throw admissionForbidden(attributes, `failed to parse CSR: ${parsed.message}`);
    if (!parsed.subject.organizations.includes(mastersGroup)) return;
    throw admissionForbidden(attributes, `use of ${signerName} signer with ${mastersGroup} group is not allowed`);
  },
});

interface SignerPermission {
  readonly attributes: AdmissionAttributes;
  readonly verb: "approve" | "sign" | "attest";
  readonly signerName: string;
  /** What follows the verb in the refusal. */
  readonly what: "requests with" | "for";
}

/** Throws a 403, or rejects with it, unless the user of a write has a permission for a signer. */
function requireSignerPermission(
  options: SignerRuleOptions,
  { attributes, verb, signerName, what }: SignerPermission,
): MaybePromise<void> {
  return andThen(isPermittedForSigner(options, { user: attributes.user, verb, signerName }), (isPermitted) => {
    if (isPermitted) return;
    throw admissionForbidden(attributes, `user not permitted to ${verb} ${what} signerName ${goQuoted(signerName)}`);
  });
}

/**
 * Whether a user has a permission for a signer: by its exact name, or by `domain/*` for all signers of its domain (upstream:
 * `IsAuthorizedForSignerName`).
 */
function isPermittedForSigner(
  { names, authorize }: SignerRuleOptions,
  { user, verb, signerName }: Pick<SignerPermission, "verb" | "signerName"> & { readonly user: UserInfo },
): MaybePromise<boolean> {
  const isAllowed = (name: string): MaybePromise<boolean> => {
    const deciding = authorize({
      kind: "resource",
      user,
      verb,
      group: names.group("certificates"),
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
    });
    return andThen(deciding, ({ decision }) => decision === "allow");
  };
  return andThen(isAllowed(signerName), (isNamed) => isNamed || isAllowed(`${signerDomain(signerName)}/*`));
}

/** Whether a write is to certificate requests, or to one of their subresources. */
const isOnSigningRequest = (
  attributes: AdmissionAttributes,
  { names, subresource }: { readonly names: Names; readonly subresource: "" | "approval" | "status" },
): boolean =>
  attributes.resource === "certificatesigningrequests" &&
  attributes.group === names.group("certificates") &&
  attributes.subresource === subresource;

// The path determines the type: the registry decodes objects with the schema of their resource.
const asSigningRequest = (object: ApiObject): CertificateSigningRequest => object as CertificateSigningRequest;
