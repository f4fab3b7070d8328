import type { AdmissionAttributes, AdmissionRule } from "../api/attributes.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import type { TransactionMember } from "../api/transaction.ts";
import type { Caller } from "./caller.ts";
import { storedAs } from "./definition/resource-definition.ts";
import type { ResourceDefinition } from "./definition/resource-definition.ts";
import { forbidden } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";
import type { StatusCause } from "../api/status.ts";

/** The target of a write, such as a registry, with the admission rules that apply to it. */
export interface AdmissionTarget {
  readonly definition: Pick<ResourceDefinition, "group" | "version" | "plural" | "kind" | "storedAs">;
  /** Runs every `admit` in order, then validation, then every `validate` in order. */
  readonly admission: readonly AdmissionRule[];
}

interface AdmissionSubject<T extends ApiObject> {
  readonly operation: AdmissionAttributes["operation"];
  readonly caller: Caller;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Default: the name. */
  readonly pathName?: string;
  readonly object?: T;
  readonly oldObject?: T;
}

/** Runs the `admit` of every rule in order. Returns the resulting object. */
export function admit<T extends ApiObject>(
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): MaybePromise<T | undefined> {
  currentTrace()?.begin("mutating admission");
  const attributes = attributesOf(target, subject);
  return admitFrom({ next: 0, rules: target.admission, attributes }) as MaybePromise<T | undefined>; // rules keep the kind
}

/** The rules that have not run yet. */
interface RemainingRules {
  readonly next: number;
  readonly rules: readonly AdmissionRule[];
}

interface Admitting extends RemainingRules {
  readonly attributes: AdmissionAttributes;
}

/** Runs the `admit` of the remaining rules. Awaits only rules that return a promise: most rules and most writes need no wait. */
function admitFrom({ next, rules, attributes: given }: Admitting): MaybePromise<ApiObject | undefined> {
  const trace = currentTrace();
  let attributes = given;
  for (let index = next; index < rules.length; index += 1) {
    const rule = rules[index];
    if (rule?.admit === undefined || rule.appliesTo?.(attributes) === false) continue;
    // If a rule refuses, it is the last one that the trace names.
    trace?.decided(rule.name);
    const admitting = rule.admit(attributes);
    if (admitting instanceof Promise) return admitAfter(admitting, { next: index + 1, rules, attributes });
    attributes = withObject(attributes, admitting);
  }
  trace?.decided("allowed");
  return attributes.object;
}

/** Continues after a rule that waits. A closure in the loop above would be allocated for each rule, even if none waits. */
const admitAfter = (admitting: Promise<ApiObject | undefined>, rest: Admitting): Promise<ApiObject | undefined> =>
  admitting.then((object) => admitFrom({ ...rest, attributes: withObject(rest.attributes, object) }));

/** The attributes with the object that a rule has returned. A deletion has no object, and a rule that changes nothing returns undefined. */
const withObject = (attributes: AdmissionAttributes, object: ApiObject | undefined): AdmissionAttributes =>
  attributes.object === undefined || object === undefined ? attributes : { ...attributes, object };

/**
 * Runs the `validate` of every rule in order. A write to the store and the answer to a review require the returned value, so that
 * code that forgets admission does not compile.
 */
export function validateAdmission<T extends ApiObject>(
  target: AdmissionTarget,
  subject: AdmissionSubject<T>,
): MaybePromise<Admitted> {
  currentTrace()?.begin("validating admission");
  const write = { attributes: attributesOf(target, subject), caller: subject.caller };
  return validateFrom({ next: 0, rules: target.admission, write });
}

interface Validating extends RemainingRules {
  readonly write: { readonly attributes: AdmissionAttributes; readonly caller: Caller };
}

function validateFrom({ next, rules, write }: Validating): MaybePromise<Admitted> {
  const trace = currentTrace();
  for (let index = next; index < rules.length; index += 1) {
    const rule = rules[index];
    if (rule?.validate === undefined || rule.appliesTo?.(write.attributes) === false) continue;
    trace?.decided(rule.name);
    const validating = rule.validate(write.attributes);
    if (validating instanceof Promise) return validateAfter(validating, { next: index + 1, rules, write });
  }
  trace?.decided("allowed");
  return new AdmittedWrite(write.caller);
}

const validateAfter = (validating: Promise<void>, rest: Validating): Promise<Admitted> =>
  validating.then(() => validateFrom(rest));

/** Proof that every admission rule was run for a write. Only `validateAdmission` creates it. */
export type Admitted = AdmittedWrite;

class AdmittedWrite {
  /** A private field, so that no other object has a compatible type. */
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Whether the write is a dry run, which must not reach the store. */
  get isDryRun(): boolean {
    return this.#caller.isDryRun;
  }

  get username(): string {
    return this.#caller.user.username;
  }

  get transaction(): TransactionMember | undefined {
    return this.#caller.transaction;
  }

  /** Aborted when the caller's request has ended. */
  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

function attributesOf<T extends ApiObject>(
  { definition }: AdmissionTarget,
  { operation, caller, subresource, namespace, name, pathName = name, object, oldObject }: AdmissionSubject<T>,
): AdmissionAttributes {
  const { plural, kind } = definition;
  const { group, version } = storedAs(definition);
  const isNamespace = group === "" && plural === "namespaces";
  return {
    operation,
    user: caller.user,
    group,
    version,
    requestedGroup: definition.group,
    requestedVersion: definition.version,
    resource: plural,
    subresource,
    kind,
    // In the path of a Namespace, its name counts as the namespace too. Use the same value for requests to its
    // collection.
    namespace: isNamespace ? name : namespace,
    name,
    pathName,
    object,
    oldObject,
    isDryRun: caller.isDryRun,
    recorder: caller,
  };
}

/** A 403 for the object of a write (upstream: `admission.NewForbidden`). `message` follows "is forbidden: ". */
export function admissionForbidden(attributes: AdmissionAttributes, message: string): ApiError {
  const { requestedGroup: group, resource, name, object } = attributes;
  // A name that is not generated yet is shown as its generateName.
  const shown = name || object?.metadata.name || object?.metadata.generateName || "Unknown";
  return forbidden({ group, resource }, { name: shown, message });
}

/** The same error, with the causes for single fields in its details. */
export const withCauses = (error: ApiError, causes: readonly StatusCause[]): ApiError =>
  error.with({ details: { ...error.details, causes } });
