import { goQuoted } from "../../../machinery/api/text/format-value.ts";
import { isDeepStrictEqual } from "node:util";
import type { AdmissionRule, AdmissionAttributes, Authorize } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { ClusterRole, Role } from "./roles.ts";
import { badRequest, notFound, forbidden } from "../../../machinery/api/api-error.ts";
import type { ApiError } from "../../../machinery/api/api-error.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { roleResourceOf } from "./binding.ts";
import { everyPermission } from "./policy-rule.ts";
import type { PolicyRule } from "./policy-rule.ts";
import type { RoleBinding } from "./role-bindings.ts";
import { compareRules } from "./rule-coverage.ts";
import { tooManyRules } from "./rule-resolver.ts";
import type { RuleResolver } from "./rule-resolver.ts";
import { mastersGroup } from "../../../machinery/api/user-info.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";

/**
 * Users may not write a role with more permissions than they hold in its namespace, unless they have the verb `escalate` for that role
 * (upstream: the policybased storage of roles). This includes changes of the role's labels only. An aggregated role may collect any rules,
 * so writing it requires all permissions. As in upstream, this rule runs before the role is validated, on the role as it was sent.
 */
export function roleEscalation(names: Names, options: EscalationOptions): AdmissionRule {
  return {
    name: "RoleEscalation",
    appliesTo: isWriteOf(["roles", "clusterroles"], names),
    async admit(attributes) {
      const { user, resource, name, pathName, object, oldObject } = attributes;
      if (object === undefined || isMaster(user) || changesOnlyGarbageCollection(attributes)) return undefined;
      if (await hasEscalationVerb(options, { attributes, verb: "escalate", resource, name: pathName }))
        return undefined;
      const refusal = await escalationError(options, {
        attributes,
        wanted: options.resolver.ownRules(asRole(object).rules ?? []),
      });
      if (refusal !== undefined) throw refusal;
      const needsEverything = hasAggregationRule(object) || (oldObject !== undefined && hasAggregationRule(oldObject));
      if (needsEverything && (await escalationError(options, { attributes, wanted: everyPermission })) !== undefined) {
        const message = "must have cluster-admin privileges to use the aggregationRule";
        throw forbidden({ group: attributes.requestedGroup, resource }, { name, message });
      }
      return undefined;
    },
  };
}

/** The group and resource guarantee the type: the schema decoded it. */
const asRole = (object: ApiObject): Role => object as Role;

// A Role has no such field.
const hasAggregationRule = (object: ApiObject): boolean =>
  ((object as ClusterRole).aggregationRule?.clusterRoleSelectors ?? []).length > 0;

/**
 * Users may not bind a role with more permissions than they hold (upstream: the policybased storage of bindings), unless they have the verb
 * `bind` for that role. A role that does not exist is a 404, because its rules cannot be compared. This rule too runs before the binding is
 * validated.
 */
export function bindingEscalation(names: Names, options: EscalationOptions): AdmissionRule {
  return {
    name: "BindingEscalation",
    appliesTo: isWriteOf(["rolebindings", "clusterrolebindings"], names),
    async admit(attributes) {
      const { user, requestedGroup, resource, namespace, object } = attributes;
      if (object === undefined || isMaster(user) || changesOnlyGarbageCollection(attributes)) return undefined;
      const { roleRef } = object as RoleBinding; // the group and resource guarantee it: the schema decoded it
      const bind = { attributes, verb: "bind", resource: roleResourceOf(roleRef), name: roleRef.name } as const;
      if (roleRef.kind !== "Role" && roleRef.kind !== "ClusterRole") {
        throw badRequest(`unsupported role reference kind: ${goQuoted(shortened(roleRef.kind))}`);
      }
      if (await hasEscalationVerb(options, bind)) return undefined;
      if (roleRef.kind === "Role" && namespace === "") throw badRequest("Namespace parameter required.");
      if (roleRef.name === "") throw badRequest("Name parameter required.");
      const wanted = options.resolver.rulesOfRole(roleRef, namespace);
      if (wanted === undefined) throw notFound({ group: requestedGroup, resource }, roleRef.name);
      const refusal = await escalationError(options, { attributes, wanted });
      if (refusal !== undefined) throw refusal;
      return undefined;
    },
  };
}

/** Whether a request creates or changes an object of one of these resources. */
const isWriteOf =
  (resources: readonly string[], names: Names) =>
  ({ operation, group, resource, subresource }: AdmissionAttributes): boolean =>
    resources.includes(resource) &&
    group === names.group("rbac.authorization") &&
    subresource === "" &&
    operation !== "DELETE";

/** What the escalation check needs from the server's authorization. */
interface EscalationOptions {
  readonly authorize: Authorize;
  readonly resolver: RuleResolver;
}

const isMaster = (user: UserInfo): boolean => user.groups.includes(mastersGroup);

interface EscalationQuestion {
  readonly attributes: AdmissionAttributes;
  readonly verb: "escalate" | "bind";
  /** The resource of the role: `roles` or `clusterroles`. */
  readonly resource: string;
  readonly name: string;
}

/** Whether the user has a verb that lifts the restriction, for a role in the request's namespace. */
async function hasEscalationVerb(
  { authorize }: EscalationOptions,
  { attributes, verb, resource, name }: EscalationQuestion,
): Promise<boolean> {
  const { user, group, namespace } = attributes;
  const decision = await authorize({
    kind: "resource",
    user,
    verb,
    group,
    version: "*",
    resource,
    subresource: "",
    namespace,
    name,
  });
  return decision.decision === "allow";
}

/**
 * The error when the author does not hold the rules of a role. Undefined when they do (upstream:
 * `validation.ConfirmNoEscalation`).
 */
async function escalationError(
  { resolver }: EscalationOptions,
  { attributes, wanted }: { readonly attributes: AdmissionAttributes; readonly wanted: readonly PolicyRule[] },
): Promise<ApiError | undefined> {
  const { user, requestedGroup: group, resource, namespace, name } = attributes;
  const held = await resolver.heldBy(user, namespace);
  const { uncovered, isCutShort } = await new LongWork(user).all(compareRules(held.rules, wanted));
  if (uncovered.length === 0) return undefined;
  const who = `user ${goQuoted(user.username)} (groups=${quoted(user.groups)})`;
  if (isCutShort) {
    return forbidden(
      { group, resource },
      {
        name,
        message:
          `${who} is attempting to grant too many RBAC permissions to compare with those currently held: ` +
          "split the rules over several roles, or let a user with the verb escalate write them",
      },
    );
  }
  const lines = [...new Set(uncovered.slice(0, maximumShown).map(ruleText))].toSorted();
  const more = uncovered.length > maximumShown ? `\n... and ${uncovered.length - maximumShown} more` : "";
  const errors = [
    // As upstream, name the resource of the request, not the resource of the missing role.
    ...held.missing.map((role) => notFound({ group, resource }, role.name).message),
    ...(held.isCutShort ? [tooManyRules] : []),
  ];
  const resolution = errors.length === 0 ? "" : `; resolution errors: [${listed(errors)}]`;
  return forbidden(
    { group, resource },
    {
      name,
      message: `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${more}${resolution}`,
    },
  );
}

/** The most list entries, and the most characters of a text, that a message shows. */
const maximumShown = 50;
const maximumShownLength = 300;

const shortened = (text: string): string =>
  text.length > maximumShownLength ? `${text.slice(0, maximumShownLength)}...` : text;

const bounded = (list: readonly string[]): readonly string[] =>
  list.length > maximumShown ? [...list.slice(0, maximumShown), `... and ${list.length - maximumShown} more`] : list;

const quoted = (list: readonly string[]): string =>
  `[${bounded(list)
    .map((one) => goQuoted(shortened(one)))
    .join(" ")}]`;

/** Joins errors as Go shows an aggregate: each once, several in brackets, and a single one without. */
function listed(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  const shown = bounded(different).map(shortened).join(", ");
  return different.length > 1 ? `[${shown}]` : shown;
}

function ruleText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const shown = parts.flatMap(([label, list]) => (list ? [`${label}:${quoted(list)}`] : []));
  return `{${shown.join(", ")}}`;
}

/**
 * Whether only fields that garbage collection needs have changed, which is never an escalation. Stricter than
 * `isOnlyGarbageCollectionChange`: an empty aggregation rule is not the same as none.
 */
function changesOnlyGarbageCollection({ object, oldObject }: AdmissionAttributes): boolean {
  if (object === undefined || oldObject === undefined) return false;
  const rest = ({ metadata, ...others }: NonNullable<AdmissionAttributes["object"]>): unknown => {
    const {
      ownerReferences: _owners,
      finalizers: _finalizers,
      selfLink: _link,
      managedFields: _fields,
      ...kept
    } = metadata;
    return { ...others, metadata: kept };
  };
  return isDeepStrictEqual(rest(object), rest(oldObject));
}
