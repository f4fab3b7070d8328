import type { AdmissionAttributes, AdmissionRule } from "../api/attributes.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { UserInfo } from "../api/user-info.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** Who asks for what: the part of every write that hooks and admission see. */
export interface Caller {
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /** Aborted when the request's deadline is over or the client is gone: what has not begun then is not written. */
  readonly signal: AbortSignal;
  /** Takes a sentence for the Warning header. */
  warn(warning: string): void;
}

/** What a write goes to, and the rules that it must pass: a registry is one. */
export interface AdmissionTarget {
  readonly definition: Pick<ResourceDefinition, "group" | "version" | "plural" | "kind">;
  /** In order: every `admit`, and after validation every `validate`. */
  readonly admission: readonly AdmissionRule[];
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
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): Promise<T | undefined> {
  const trace = currentTrace();
  trace?.begin("mutating admission");
  let attributes = attributesOf(target, subject);
  for (const rule of target.admission) {
    if (rule.admit === undefined) continue;
    // The last one named is the one that refused.
    trace?.decided(rule.name);
    const object = await rule.admit(attributes);
    // A deletion has no object to go on with.
    if (attributes.object !== undefined && object !== undefined) attributes = { ...attributes, object };
  }
  trace?.decided("allowed");
  return attributes.object as T | undefined; // rules keep the kind
}

/**
 * Runs every rule's `validate` in order. What it returns is the only key to the store and to the answer of a review: a verb
 * that forgets admission does not compile.
 */
export async function validateAdmission<T extends ApiObject>(
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): Promise<Admitted> {
  const trace = currentTrace();
  trace?.begin("validating admission");
  const attributes = attributesOf(target, subject);
  for (const rule of target.admission) {
    if (rule.validate === undefined) continue;
    trace?.decided(rule.name);
    await rule.validate(attributes);
  }
  trace?.decided("allowed");
  return new AdmittedWrite(subject.caller);
}

/** Proof that every rule was asked about a write. Only `validateAdmission` makes one. */
export type Admitted = AdmittedWrite;

class AdmittedWrite {
  /** Private, so that no other object passes for one. */
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A dry run must not reach the store. */
  get isDryRun(): boolean {
    return this.#caller.isDryRun;
  }

  /** Aborts when the caller's request has ended. */
  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

function attributesOf<T extends ApiObject>(
  { definition: { group, version, plural, kind } }: AdmissionTarget,
  { operation, caller, subresource, namespace, name, object, oldObject }: AdmissionSubject<T>,
): AdmissionAttributes {
  const isNamespace = group === "" && plural === "namespaces";
  return {
    operation,
    user: caller.user,
    group,
    version,
    resource: plural,
    subresource,
    kind,
    // The path of a Namespace carries its name as the namespace too: so it is where the path is that of the collection.
    namespace: isNamespace ? name : namespace,
    name,
    ...(object !== undefined && { object }),
    ...(oldObject !== undefined && { oldObject }),
    isDryRun: caller.isDryRun,
  };
}
