import type { Environment } from "@marcbachmann/cel-js";
import type { AuthorizationAttributes, Decision, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import { parseFieldSelector } from "../../../machinery/api/selectors/field-selector.ts";
import { parseLabelSelector } from "../../../machinery/api/selectors/parse-label-selector.ts";
import { dnsLabelFaults, dnsSubdomainFaults } from "../../../machinery/api/validation/name-validation.ts";
import { selectorTermsIfValid } from "../../../machinery/api/selectors/selector-terms-if-valid.ts";
import { serviceAccountGroups, serviceAccountUsername } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { addFunctions } from "../../../machinery/expressions/add-functions.ts";
import { spendSteps } from "../../../machinery/expressions/cost-budget.ts";

/** Asks the server's authorizers. May throw to make the caller repeat the evaluation. */
type CheckAccess = (attributes: AuthorizationAttributes) => Decision;

/** The cost of a check in steps: authorizers search roles, or wait for a webhook. */
const stepsOfCheck = 20_000;

interface Asking {
  readonly user: UserInfo;
  readonly checkAccess: CheckAccess;
}

/** The variable `authorizer`, with which expressions check what a user may do. */
export class CelAuthorizer {
  readonly asking: Asking;
  /** The resource of the request. Expressions read it. */
  readonly requestResource: ResourceCheck;

  constructor(asking: Asking, requestResource: Partial<ResourceQuestion>) {
    this.asking = asking;
    this.requestResource = new ResourceCheck(asking, { ...anyResource, ...requestResource });
  }
}

class PathCheck {
  readonly asking: Asking;
  readonly path: string;
  constructor(asking: Asking, path: string) {
    this.asking = asking;
    this.path = path;
  }
}

class GroupCheck {
  readonly asking: Asking;
  readonly group: string;
  constructor(asking: Asking, group: string) {
    this.asking = asking;
    this.group = group;
  }
}

type ResourceQuestion = Omit<ResourceAttributes, "kind" | "user" | "verb">;

const anyResource: ResourceQuestion = {
  group: "",
  version: "*",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

class ResourceCheck {
  readonly asking: Asking;
  readonly question: ResourceQuestion;
  constructor(asking: Asking, question: ResourceQuestion) {
    this.asking = asking;
    this.question = question;
  }
  with(more: Partial<ResourceQuestion>): ResourceCheck {
    return new ResourceCheck(this.asking, { ...this.question, ...more });
  }
}

class AccessDecision {
  readonly decision: Decision;
  constructor(decision: Decision) {
    this.decision = decision;
  }
}

type VerbQuestion = { readonly verb: string } & (ResourceQuestion | { readonly path: string });

function check({ user, checkAccess }: Asking, { verb, ...question }: VerbQuestion) {
  spendSteps(stepsOfCheck);
  return new AccessDecision(
    checkAccess(
      "path" in question ? { kind: "path", user, verb, ...question } : { kind: "resource", user, verb, ...question },
    ),
  );
}

/** Adds upstream's library `authz`, with selectors and service accounts. */
export function addAuthorizerFunctions(environment: Environment): void {
  const [authorizer, path, group, resource, decision] = [
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
  ];
  environment
    .registerType(path, PathCheck)
    .registerType(group, GroupCheck)
    .registerType(resource, ResourceCheck)
    .registerType(decision, AccessDecision)
    .registerType(authorizer, { ctor: CelAuthorizer, fields: { requestResource: resource } });
  addFunctions(environment, {
    [`${authorizer}.path(string): ${path}`]: ({ asking }: CelAuthorizer, text: string) => {
      if (text.trim() === "") throw new Error("path must not be empty");
      return new PathCheck(asking, text);
    },
    [`${authorizer}.group(string): ${group}`]: ({ asking }: CelAuthorizer, name: string) =>
      new GroupCheck(asking, name),
    [`${authorizer}.serviceAccount(string, string): ${authorizer}`]: (
      { asking }: CelAuthorizer,
      ...[namespace, name]: [string, string]
    ) => {
      if (dnsSubdomainFaults(name).length > 0) throw new Error("Invalid service account name");
      if (dnsLabelFaults(namespace).length > 0) throw new Error("Invalid service account namespace");
      const username = serviceAccountUsername(namespace, name);
      // As in upstream, without the group of all authenticated users.
      const groups = serviceAccountGroups(namespace);
      return new CelAuthorizer({ ...asking, user: { username, groups, extra: {} } }, {});
    },
    [`${path}.check(string): ${decision}`]: ({ asking, path: asked }: PathCheck, verb: string) =>
      check(asking, { path: asked, verb }),
    [`${group}.resource(string): ${resource}`]: ({ asking, group: name }: GroupCheck, plural: string) => {
      if (plural.trim() === "") throw new Error("resource must not be empty");
      return new ResourceCheck(asking, { ...anyResource, group: name, resource: plural });
    },
    ...Object.fromEntries(
      ["subresource", "namespace", "name"].map((field) => [
        `${resource}.${field}(string): ${resource}`,
        (one: ResourceCheck, value: string) => one.with({ [field]: value }),
      ]),
    ),
    [`${resource}.fieldSelector(string): ${resource}`]: (one: ResourceCheck, text: string) =>
      one.with({ fieldSelector: selectorTermsIfValid(parseFieldSelector, text) ?? [] }),
    [`${resource}.labelSelector(string): ${resource}`]: (one: ResourceCheck, text: string) =>
      one.with({ labelSelector: selectorTermsIfValid(parseLabelSelector, text) ?? [] }),
    [`${resource}.check(string): ${decision}`]: ({ asking, question }: ResourceCheck, verb: string) =>
      check(asking, { ...question, verb }),
    [`${decision}.allowed(): bool`]: ({ decision: one }: AccessDecision) => one.decision === "allow",
    [`${decision}.reason(): string`]: ({ decision: one }: AccessDecision) => one.reason,
    [`${decision}.errored(): bool`]: ({ decision: one }: AccessDecision) => one.evaluationError !== undefined,
    [`${decision}.error(): string`]: ({ decision: one }: AccessDecision) => one.evaluationError ?? "",
  });
}
