import type { AdmissionAttributes, AdmissionRule, Authorize } from "../../src/machinery/api/attributes.ts";
import { ApiError } from "../../src/machinery/api/api-error.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { UserInfo } from "../../src/machinery/api/user-info.ts";

export const names = platformNames;
export const certificates = names.group("certificates");
export const alice: UserInfo = { username: "alice", groups: ["system:authenticated"], extra: {} };
export const node: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };

/** Allows only the requests that are listed as `verb resource[/subresource] name`. */
export const allowing =
  (...grants: readonly string[]): Authorize =>
  (attributes) => {
    if (attributes.kind === "path") return { decision: "noOpinion", reason: "" };
    const { verb, resource, subresource, name } = attributes;
    const asked = `${verb} ${resource}${subresource === "" ? "" : `/${subresource}`} ${name}`;
    return grants.includes(asked) ? { decision: "allow", reason: "" } : { decision: "noOpinion", reason: "no rule" };
  };

export const apiObject = (more: object = {}): ApiObject => ({
  apiVersion: "v1",
  kind: "Any",
  metadata: { name: "a" },
  ...more,
});

export const attributes = (more: Partial<AdmissionAttributes>): AdmissionAttributes => ({
  operation: "CREATE",
  user: alice,
  group: "",
  version: "v1",
  resource: "configmaps",
  subresource: "",
  kind: "Any",
  namespace: "",
  name: "a",
  pathName: more.name ?? "a",
  isDryRun: false,
  requestedVersion: "v1",
  recorder: { warn: () => {} },
  requestedGroup: more.group ?? "",
  ...more,
});

/** The result of a rule: the object that it admits, or its refusal as `code message`. */
export async function ask(rule: AdmissionRule, more: Partial<AdmissionAttributes>): Promise<ApiObject | string> {
  const asked = attributes(more);
  try {
    const isAsked = (about: AdmissionAttributes): boolean => rule.appliesTo?.(about) !== false;
    const object = (isAsked(asked) && (await rule.admit?.(asked))) || (asked.object ?? apiObject());
    const admitted = { ...asked, ...(asked.object !== undefined && { object }) };
    if (isAsked(admitted)) await rule.validate?.(admitted);
    return object;
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

/** Undefined when the rule admits it. */
export async function refusalOf(rule: AdmissionRule, more: Partial<AdmissionAttributes>): Promise<string | undefined> {
  const answer = await ask(rule, more);
  return typeof answer === "string" ? answer : undefined;
}
