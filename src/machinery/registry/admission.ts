import type { AdmissionAttributes, AdmissionRule } from "../api/attributes.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { UserInfo } from "../api/user-info.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import { storedAs } from "./resource-definition.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** The caller of a request, and what it wants. Hooks and admission rules receive it with every write. */
export interface Caller {
  readonly user: UserInfo;
  readonly isDryRun: boolean;
  /**
   * Aborted when the deadline passes or the client disconnects. A write that has not started by then is not executed.
   */
  readonly signal: AbortSignal;
  /** Adds a sentence to the Warning headers. */
  warn(warning: string): void;
}

/** The target of a write, with the admission rules that apply to it. A registry is one. */
export interface AdmissionTarget {
  readonly definition: Pick<ResourceDefinition, "group" | "version" | "plural" | "kind" | "storedAs">;
  /** Runs every `admit` in order, then validation, then every `validate` in order. */
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

/** Runs the `admit` of every rule in order. Returns the resulting object. */
export async function admit<T extends ApiObject>(
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): Promise<T | undefined> {
  const trace = currentTrace();
  trace?.begin("mutating admission");
  let attributes = attributesOf(target, subject);
  for (const rule of target.admission) {
    if (rule.admit === undefined || rule.appliesTo?.(attributes) === false) continue;
    // The last one named is the one that refused.
    trace?.decided(rule.name);
    const admitting = rule.admit(attributes);
    const object = admitting instanceof Promise ? await admitting : admitting;
    // A deletion has no object.
    if (attributes.object !== undefined && object !== undefined) attributes = { ...attributes, object };
  }
  trace?.decided("allowed");
  return attributes.object as T | undefined; // rules keep the kind
}

/**
 * Runs the `validate` of every rule in order. Writing to the store, and answering a review, require the returned value:
 * code that forgets admission does not compile.
 */
export async function validateAdmission<T extends ApiObject>(
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): Promise<Admitted> {
  const trace = currentTrace();
  trace?.begin("validating admission");
  const attributes = attributesOf(target, subject);
  for (const rule of target.admission) {
    if (rule.validate === undefined || rule.appliesTo?.(attributes) === false) continue;
    trace?.decided(rule.name);
    const validating = rule.validate(attributes);
    if (validating instanceof Promise) await validating;
  }
  trace?.decided("allowed");
  return new AdmittedWrite(subject.caller);
}

/** Proof that every admission rule was run for a write. Only `validateAdmission` creates it. */
export type Admitted = AdmittedWrite;

class AdmittedWrite {
  /** A private field, so that no other object has a compatible type. */
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A dry run must not write to the store. */
  get isDryRun(): boolean {
    return this.#caller.isDryRun;
  }

  get username(): string {
    return this.#caller.user.username;
  }

  /** Aborted when the caller's request has ended. */
  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

function attributesOf<T extends ApiObject>(
  { definition }: AdmissionTarget,
  { operation, caller, subresource, namespace, name, object, oldObject }: AdmissionSubject<T>,
): AdmissionAttributes {
  const { plural, kind } = definition;
  const { group, version } = storedAs(definition);
  const isNamespace = group === "" && plural === "namespaces";
  return {
    operation,
    user: caller.user,
    group,
    version,
    askedGroup: definition.group,
    resource: plural,
    subresource,
    kind,
    // The path of a Namespace also contains its name as the namespace. Use the same value for requests to its
    // collection.
    namespace: isNamespace ? name : namespace,
    name,
    ...(object !== undefined && { object }),
    ...(oldObject !== undefined && { oldObject }),
    isDryRun: caller.isDryRun,
  };
}
