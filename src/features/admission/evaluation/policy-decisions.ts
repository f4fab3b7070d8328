import { computedOnce } from "../../../machinery/api/computed-once.ts";
import type { ApiError } from "../../../machinery/api/api-error.ts";
import type { AdmissionAttributes, Authorize } from "../../../machinery/api/attributes.ts";
import { formatFaults } from "../../../machinery/api/validation/field-error.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { printKind, referencedKind } from "../../../machinery/api/resource-type.ts";
import type { StatusReason } from "../../../machinery/api/status.ts";
import { admissionForbidden, withCauses } from "../../../machinery/registry/admission.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import type { KnownPolicies, PolicyInForce } from "../known-policies.ts";
import type { ValidatingAdmissionPolicyBinding } from "../policies/validating-admission-policy-bindings.ts";
import type { ValidatingAdmissionPolicy } from "../policies/policy-schema.ts";
import { collectParams, ConfigurationFault, findParamKind } from "./collect-params.ts";
import { compilePolicy } from "./compile-policy.ts";
import type { CompiledPolicy } from "./compile-policy.ts";
import { evaluatePolicy, stepsOfPolicy } from "./evaluate-policy.ts";
import type { ErrorType, PolicyFailure, PolicyResult } from "./evaluate-policy.ts";
import { compileMatcher } from "./match-resources.ts";
import type { Matcher, ServedAs } from "./match-resources.ts";
import { WrittenObjects } from "./written-objects.ts";
import { AccessChecks } from "./access-checks.ts";
import { AuditedFailures } from "./audited-failures.ts";

/** Receives the outcome of a validation. */
export interface PolicyObserver {
  onChecked(check: {
    readonly policy: string;
    readonly binding: string;
    readonly error: ErrorType;
    readonly action: "allow" | "deny" | "audit" | "warn";
    readonly seconds: number;
  }): void;
}

interface PolicyDecisionsOptions {
  readonly names: Names;
  readonly stores: Stores;
  readonly authorize: Authorize;
  readonly known: KnownPolicies;
  readonly observer: PolicyObserver;
}

interface ReadyBinding {
  readonly name: string;
  readonly spec: ValidatingAdmissionPolicyBinding["spec"];
  readonly matches: Matcher;
}

interface ReadyPolicy {
  readonly name: string;
  readonly spec: ValidatingAdmissionPolicy["spec"];
  readonly failurePolicy: "Fail" | "Ignore";
  readonly matches: Matcher;
  readonly compiled: CompiledPolicy;
  /** Why the policy cannot be evaluated. Undefined: it can. */
  readonly fault: string | undefined;
}

/**
 * Called after each evaluation with its steps. Throws an ApiError when the write needs too many steps. Returns a pause to be awaited before
 * the next evaluation, if one is due.
 */
type SpendSteps = (steps: number) => Promise<void> | undefined;

/** What belongs to the decision on one write. */
interface Decision {
  readonly written: WrittenObjects;
  readonly audited: AuditedFailures;
  readonly work: LongWork;
  readonly spendSteps: SpendSteps;
}

interface EvaluationOptions {
  readonly policy: ReadyPolicy;
  readonly binding: ReadyBinding;
  readonly matched: ServedAs;
  readonly params: ApiObject | null;
}

interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly failure: Pick<PolicyFailure, "message" | "reason">;
}

/** The most steps of all policies for one write. A write that needs more is refused. */
const stepsOfWrite = 2 * stepsOfPolicy;

/** Decides on writes by the policies in force. Loaded only when there is a binding, because it loads CEL. */
export class PolicyDecisions {
  readonly #options: PolicyDecisionsOptions;

  constructor(options: PolicyDecisionsOptions) {
    this.#options = options;
  }

  /** Compiles the policies in force that are not compiled yet. */
  prepare(): void {
    for (const { policy, bindings } of this.#options.known.inForce()) {
      this.#readyPolicy(policy);
      for (const binding of bindings) this.#readyBinding(binding);
    }
  }

  /** Rejects with an ApiError when a policy refuses the write. Sends the warnings and annotations of policies. */
  async decide(attributes: AdmissionAttributes): Promise<void> {
    const { names, stores, authorize, known } = this.#options;
    const waiting = stores.waitForFreshCache();
    if (waiting !== undefined) await waiting;
    const written = new WrittenObjects({ names, stores, attributes, checks: new AccessChecks(authorize) });
    const audited = AuditedFailures.of(attributes.recorder);
    const denials: Denial[] = [];
    const work = new LongWork(attributes.user);
    let steps = 0;
    const spendSteps: SpendSteps = (more) => {
      steps += more;
      if (steps > stepsOfWrite) throw admissionForbidden(attributes, "its admission policies take too long");
      return work.pause();
    };
    const decision = { written, audited, work, spendSteps };
    for (const inForce of known.inForce()) {
      const policy = this.#readyPolicy(inForce.policy);
      denials.push(...(await this.#decideOne(decision, { policy, inForce })));
    }
    const [first] = denials;
    if (first !== undefined) throw refusal(attributes, first);
  }

  async #decideOne(
    decision: Decision,
    { policy, inForce }: { readonly policy: ReadyPolicy; readonly inForce: PolicyInForce },
  ): Promise<readonly Denial[]> {
    const { written, work } = decision;
    const matched = policy.matches(written.write);
    if (matched === undefined) return [];
    const source = paramSource(policy, this.#options.stores);
    if ("fault" in source) return misconfigured(policy, { message: `failed to configure policy: ${source.fault}` });
    const { namespace, recorder } = written.write.attributes;
    const denials: Denial[] = [];
    const annotations = new Map<string, Set<string>>();
    for (const binding of inForce.bindings.map((one) => this.#readyBinding(one))) {
      if (binding.matches(written.write) === undefined) continue;
      const { paramRef } = binding.spec;
      try {
        for (const params of await collectParams(source.registry, { paramRef, namespace, work })) {
          const found = await this.#evaluate(decision, { policy, binding, matched, params });
          denials.push(...found.denials);
          for (const [key, value] of Object.entries(found.annotations)) {
            annotations.set(key, (annotations.get(key) ?? new Set()).add(value));
          }
        }
      } catch (error) {
        if (!(error instanceof ConfigurationFault)) throw error;
        const message = `failed to configure binding: ${error.message}`;
        denials.push(...misconfigured(policy, { message, binding: binding.name }));
      }
    }
    for (const [key, values] of annotations) {
      recorder.annotate?.({ [`${policy.name}/${key}`]: [...values].join(", ") });
    }
    return denials;
  }

  /** Evaluates a policy with one of its params, and performs the binding's actions for each failure. */
  async #evaluate(
    decision: Decision,
    { policy, binding, matched, params }: EvaluationOptions,
  ): Promise<{ readonly denials: readonly Denial[]; readonly annotations: PolicyResult["annotations"] }> {
    const { written, spendSteps } = decision;
    const started = performance.now();
    const input = written.inputFor(matched, params);
    const { failurePolicy } = policy;
    const { failures, annotationFailures, ignored, annotations, steps } = await written.checks.evaluated(() =>
      evaluatePolicy(policy.compiled, { input, failurePolicy }),
    );
    const seconds = (performance.now() - started) / 1000;
    await spendSteps(steps);
    const checked = { policy: policy.name, binding: binding.name, seconds };
    for (const error of ignored) this.#options.observer.onChecked({ ...checked, error, action: "allow" });
    for (const { error } of annotationFailures) this.#options.observer.onChecked({ ...checked, error, action: "deny" });
    const refusing = failures.filter((failure) => this.#enforce(decision, { policy, binding, failure, seconds }));
    const denials = [...refusing, ...annotationFailures].map((failure) => ({
      policy: policy.name,
      binding: binding.name,
      failure,
    }));
    return { denials, annotations };
  }

  /** Performs the actions of the binding. Returns whether they refuse the write. */
  #enforce(
    { written, audited }: Decision,
    {
      policy,
      binding,
      failure,
      seconds,
    }: Pick<EvaluationOptions, "policy" | "binding"> & { readonly failure: PolicyFailure; readonly seconds: number },
  ): boolean {
    const { recorder } = written.write.attributes;
    const actions = binding.spec.validationActions ?? [];
    const checked = { policy: policy.name, binding: binding.name, error: failure.error, seconds };
    for (const action of actions) {
      if (action === "Deny") this.#options.observer.onChecked({ ...checked, action: "deny" });
      else if (action === "Warn") {
        const who = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
        recorder.warn(`Validation failed for ${who}: ${failure.message}`);
        this.#options.observer.onChecked({ ...checked, action: "warn" });
      } else {
        audited.add({
          message: failure.message,
          policy: policy.name,
          binding: binding.name,
          expressionIndex: failure.index,
          validationActions: actions,
        });
        this.#options.observer.onChecked({ ...checked, action: "audit" });
      }
    }
    return actions.includes("Deny");
  }

  readonly #readyPolicy = computedOnce((policy: ValidatingAdmissionPolicy): ReadyPolicy => {
    const { spec } = policy;
    const { policy: compiled, faults } = compilePolicy(spec);
    return {
      name: policy.metadata.name ?? "",
      spec,
      failurePolicy: spec.failurePolicy === "Ignore" ? "Ignore" : "Fail",
      matches: compileMatcher(spec.matchConstraints, (group) => this.#options.names.ownGroup(group)),
      compiled,
      fault: faults.length === 0 ? undefined : formatFaults(faults),
    };
  });

  readonly #readyBinding = computedOnce((binding: ValidatingAdmissionPolicyBinding): ReadyBinding => {
    const { spec } = binding;
    const matches = compileMatcher(spec.matchResources, (group) => this.#options.names.ownGroup(group));
    return { name: binding.metadata.name ?? "", spec, matches };
  });
}

/** The registry of a policy's params, if it has any. `fault`: why the policy cannot be evaluated. */
type ParamSource = { readonly registry: ResourceRegistry | undefined } | { readonly fault: string };

function paramSource({ fault, spec: { paramKind } }: ReadyPolicy, stores: Stores): ParamSource {
  if (fault !== undefined) return { fault };
  if (paramKind === undefined) return { registry: undefined };
  const registry = findParamKind(stores, paramKind);
  if (registry !== undefined) return { registry };
  return { fault: `failed to find resource referenced by paramKind: '${printKind(referencedKind(paramKind))}'` };
}

/** The denials of a policy that cannot be evaluated, by its failurePolicy. */
const misconfigured = (
  { name, failurePolicy }: ReadyPolicy,
  { message, binding }: { readonly message: string; readonly binding?: string },
): Denial[] => (failurePolicy === "Ignore" ? [] : [{ policy: name, binding, failure: { message, reason: "Invalid" } }]);

const codes: Readonly<Record<string, readonly [code: number, reason: StatusReason]>> = {
  Forbidden: [403, "Forbidden"],
  RequestEntityTooLarge: [413, "RequestEntityTooLarge"],
};

/** The error of a refused write, with upstream's message and code. */
function refusal(attributes: AdmissionAttributes, { policy, binding, failure }: Denial): ApiError {
  const who = `ValidatingAdmissionPolicy '${policy}'${binding === undefined ? "" : ` with binding '${binding}'`}`;
  const sentence = `${who} denied request: ${failure.message}`;
  const [code, reason] = codes[failure.reason] ?? [422, "Invalid"];
  return withCauses(admissionForbidden(attributes, sentence), [{ message: sentence }]).with({ code, reason });
}
