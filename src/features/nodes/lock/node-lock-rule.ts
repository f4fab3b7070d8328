import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { admissionForbidden } from "../../../machinery/registry/admission.ts";
import { asSigningRequest, requestedCertificate } from "../signing-request.ts";
import type { SigningRequest } from "../signing-request.ts";
import type { LockedNodes } from "./node-locks.ts";

/**
 * Refuses certificates for a machine that is locked out: requests in its name by any user, the approval of its earlier requests, and their
 * certificates, whichever signer writes them. These requests can still be denied.
 */
export function nodeLockRule(names: Names, locked: LockedNodes): AdmissionRule {
  const group = names.group("certificates");
  return {
    name: "NodeLock",
    appliesTo: ({ group: asked, resource }) => asked === group && resource === "certificatesigningrequests",
    validate(attributes) {
      const { object, oldObject } = attributes;
      if (object === undefined || !isGranting(object, oldObject)) return;
      const node = lockedNode(locked, asSigningRequest(oldObject ?? object));
      if (node !== undefined) throw admissionForbidden(attributes, `the node ${goQuoted(node)} is locked`);
    },
  };
}

/** Whether a write requests, approves or issues a certificate. */
function isGranting(object: ApiObject, oldObject: ApiObject | undefined): boolean {
  if (oldObject === undefined) return true;
  const [next, previous] = [asSigningRequest(object), asSigningRequest(oldObject)];
  return (isApproved(next) && !isApproved(previous)) || certificateOf(next) !== certificateOf(previous);
}

const isApproved = ({ status }: SigningRequest): boolean =>
  (status?.conditions ?? []).some(({ type }) => type === "Approved");

const certificateOf = ({ status }: SigningRequest): string => status?.certificate ?? "";

function lockedNode(locked: LockedNodes, request: SigningRequest): string | undefined {
  const { username = "", extra = {} } = request.spec;
  const named = nodeNameOf(requestedCertificate(request)?.subject.commonName ?? "");
  return named !== undefined && locked.isLocked(named) ? named : locked.lockedNodeOf({ username, extra });
}
