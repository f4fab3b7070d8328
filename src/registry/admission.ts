import type { AdmissionAttributes, AdmissionRule } from "../api/attributes.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { ResourceRegistry } from "./resource-registry.ts";

/** Who asks for what: the part of every write that hooks and admission see. */
export interface Caller {
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /** Aborted when the request's deadline is over or the client is gone: what has not begun then is not written. */
  readonly signal: AbortSignal;
  /** Takes a sentence for the Warning header. */
  warn(warning: string): void;
}

export interface AdmissionSubject<T extends ApiObject> {
  readonly operation: AdmissionAttributes["operation"];
  readonly caller: Caller;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly object?: T;
  readonly oldObject?: T;
}

/** Runs every rule's `admit` in order. Returns the object as they leave it. */
export async function admit<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  subject: AdmissionSubject<T>,
): Promise<T | undefined> {
  let attributes = attributesOf(registry, subject);
  for (const rule of registry.admission) {
    if (rule.admit === undefined) continue;
    const object = await rule.admit(attributes);
    // A deletion has no object to go on with.
    if (attributes.object !== undefined && object !== undefined) attributes = { ...attributes, object };
  }
  return attributes.object as T | undefined; // rules keep the kind
}

/** Runs every rule's `validate` in order. */
export async function validateAdmission<T extends ApiObject>(
  registry: ResourceRegistry<T>,
  subject: AdmissionSubject<T>,
): Promise<void> {
  const rules = registry.admission.filter((rule: AdmissionRule) => rule.validate !== undefined);
  if (rules.length === 0) return;
  const attributes = attributesOf(registry, subject);
  for (const rule of rules) await rule.validate?.(attributes);
}

function attributesOf<T extends ApiObject>(
  { definition: { group, version, plural, kind } }: ResourceRegistry<T>,
  { operation, caller, subresource, namespace, name, object, oldObject }: AdmissionSubject<T>,
): AdmissionAttributes {
  return {
    operation,
    user: caller.user,
    group,
    version,
    resource: plural,
    subresource,
    kind,
    namespace,
    name,
    ...(object !== undefined && { object }),
    ...(oldObject !== undefined && { oldObject }),
    isDryRun: caller.isDryRun,
  };
}
