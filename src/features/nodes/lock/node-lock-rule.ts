import type { AdmissionAttributes, AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import { admissionForbidden } from "../../../machinery/registry/admission.ts";
import { requestedCommonName } from "../bootstrap/requested-common-name.ts";
import type { LockedNodes } from "./node-locks.ts";

interface RequestObject extends ApiObject {
  readonly spec: {
    readonly request?: string;
    readonly username?: string;
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string }[];
  };
}

/**
 * Refuses certificates for a machine that is locked out: requests in its name, by any user; the approval of those that it made
 * before; and their certificates, whichever signer writes them. They can be denied.
 */
export function nodeLockRule(names: Names, locked: LockedNodes): AdmissionRule {
  const group = names.group("certificates");
  return {
    name: "NodeLock",
    appliesTo: ({ group: asked, resource, operation }) =>
      asked === group && resource === "certificatesigningrequests" && operation !== "DELETE",
    validate(attributes) {
      const { object, oldObject } = attributes;
      if (object === undefined || !isGranting(attributes)) return;
      const node = lockedNode(locked, (oldObject ?? object) as RequestObject); // the resource tells the type
      if (node !== undefined) throw admissionForbidden(attributes, `the node ${JSON.stringify(node)} is locked`);
    },
  };
}

/** Whether a write asks for a certificate, or brings a request nearer to one. */
function isGranting({ operation, object, oldObject }: AdmissionAttributes): boolean {
  if (operation === "CREATE") return true;
  // The resource tells the type.
  const [next, previous] = [object, oldObject].map((one) => (one as RequestObject | undefined)?.status ?? {});
  const isApproved = (status: RequestObject["status"]): boolean =>
    (status?.conditions ?? []).some(({ type }) => type === "Approved");
  return (isApproved(next) && !isApproved(previous)) || (next?.certificate ?? "") !== (previous?.certificate ?? "");
}

function lockedNode(locked: LockedNodes, { spec }: RequestObject): string | undefined {
  const { username = "", extra = {}, request = "" } = spec;
  const named = nodeNameOf(requestedCommonName(request) ?? "");
  return named !== undefined && locked.isLocked(named) ? named : locked.lockedNodeOf({ username, extra });
}
