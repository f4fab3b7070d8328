import type { AuthorizationAttributes, ResourceAttributes } from "../../../machinery/api/attributes.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { atomicList, mapOf, namedStringList, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";

const requirement = (goType: string, what: string) =>
  object({
    goType,
    description: `A condition on ${what}.`,
    fields: {
      key: { number: 1, schema: string, presence: "always", isRequired: true, description: `The key of ${what}.` },
      operator: {
        number: 2,
        schema: string,
        presence: "always",
        isRequired: true,
        description: "How the key relates to the values: In, NotIn, Exists or DoesNotExist.",
      },
      values: { number: 3, schema: atomicList(string), description: "The values for In and NotIn." },
    },
  });

const selectorAttributes = (kind: "Field" | "Label") =>
  object({
    goType: `v1.${kind}SelectorAttributes`,
    description: `A ${kind.toLowerCase()} selector of the request, as text or as requirements.`,
    fields: {
      rawSelector: { number: 1, schema: string, description: "The selector as in a query. It is not evaluated." },
      requirements: {
        number: 2,
        schema: atomicList(requirement(`v1.${kind}SelectorRequirement`, `a ${kind.toLowerCase()}`)),
        description: "Requirements that must all be met.",
      },
    },
  });

const resourceAttributes = object({
  goType: "v1.ResourceAttributes",
  description: "A resource request.",
  fields: {
    namespace: {
      number: 1,
      schema: string,
      description: "The namespace; empty for all, or for cluster-scoped resources.",
    },
    verb: {
      number: 2,
      schema: string,
      description: "The verb, such as get, list, create or impersonate; `*` means all.",
    },
    group: { number: 3, schema: string, description: "The API group of the resource; `*` means all." },
    version: { number: 4, schema: string, description: "The API version of the resource; `*` means all." },
    resource: { number: 5, schema: string, description: "The resource, a plural; `*` means all." },
    subresource: { number: 6, schema: string, description: "The subresource." },
    name: { number: 7, schema: string, description: "The name of the object; empty for all." },
    fieldSelector: {
      number: 8,
      schema: selectorAttributes("Field"),
      presence: "pointer",
      description: "The field selector of a list, watch or deletecollection.",
    },
    labelSelector: {
      number: 9,
      schema: selectorAttributes("Label"),
      presence: "pointer",
      description: "The label selector of a list, watch or deletecollection.",
    },
  },
});

const nonResourceAttributes = object({
  goType: "v1.NonResourceAttributes",
  description: "A non-resource request.",
  fields: {
    path: { number: 1, schema: string, description: "The path." },
    verb: { number: 2, schema: string, description: "The HTTP method in lower case." },
  },
});

const requestFields = {
  resourceAttributes: {
    number: 1,
    schema: resourceAttributes,
    presence: "pointer",
    description: "The resource request to check.",
  },
  nonResourceAttributes: {
    number: 2,
    schema: nonResourceAttributes,
    presence: "pointer",
    description: "The non-resource request to check.",
  },
} as const;

/** The spec of a review about the caller. */
export const selfAccessReviewSpec = object({
  goType: "v1.SelfSubjectAccessReviewSpec",
  description: "The request to check. Set exactly one of the two fields.",
  fields: requestFields,
});

/** The spec of a review about any user. */
export const accessReviewSpec = object({
  goType: "v1.SubjectAccessReviewSpec",
  description: "The request to check (set exactly one of the two attributes) and the user who would make it.",
  fields: {
    ...requestFields,
    user: { number: 3, schema: string, description: "The user name. Groups are not added: list them in `groups`." },
    groups: { number: 4, schema: atomicList(string), description: "The groups of the user." },
    extra: { number: 5, schema: mapOf(namedStringList("v1.ExtraValue")), description: "The extra of the user." },
    uid: { number: 6, schema: string, description: "The uid of the user." },
  },
});

export type ResourceAttributesSpec = Infer<typeof resourceAttributes>;
export type SelectorAttributes = NonNullable<ResourceAttributesSpec["fieldSelector"]>;
export type AccessRequest = Infer<typeof selfAccessReviewSpec>;
export type AccessReviewSpec = Infer<typeof accessReviewSpec>;

/** The request in the form that authorizers take. */
export function reviewedAttributes(request: AccessRequest, user: UserInfo): AuthorizationAttributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = request;
  if (resource === undefined) return { kind: "path", user, verb: path?.verb ?? "", path: path?.path ?? "" };
  return {
    kind: "resource",
    user,
    verb: resource.verb ?? "",
    group: resource.group ?? "",
    version: resource.version ?? "*",
    resource: resource.resource ?? "",
    subresource: resource.subresource ?? "",
    namespace: resource.namespace ?? "",
    name: resource.name ?? "",
    ...fieldSelectorOf(resource.fieldSelector),
    ...labelSelectorOf(resource.labelSelector),
  };
}

/** The part of a selector that authorizers evaluate: equality with one value, or with anything else. */
function fieldSelectorOf(selector: SelectorAttributes | undefined): Pick<ResourceAttributes, "fieldSelector"> {
  const terms = (selector?.requirements ?? []).flatMap(({ key: field, operator, values: [value, ...others] = [] }) => {
    if (value === undefined || others.length > 0) return [];
    return operator === "In" || operator === "NotIn"
      ? [{ field, operator: operator === "In" ? ("=" as const) : ("!=" as const), value }]
      : [];
  });
  return terms.length === 0 ? {} : { fieldSelector: terms };
}

const labelOperators = { In: "in", NotIn: "notin", Exists: "exists", DoesNotExist: "doesNotExist" } as const;
const isLabelOperator = (text: string): text is keyof typeof labelOperators => Object.hasOwn(labelOperators, text);

function labelSelectorOf(selector: SelectorAttributes | undefined): Pick<ResourceAttributes, "labelSelector"> {
  const requirements = (selector?.requirements ?? []).flatMap(({ key, operator, values = [] }) =>
    isLabelOperator(operator) ? [{ key, operator: labelOperators[operator], values }] : [],
  );
  return requirements.length === 0 ? {} : { labelSelector: requirements };
}

export const userOf = ({ user = "", groups = [], extra = {}, uid }: AccessReviewSpec): UserInfo => ({
  username: user,
  ...(uid !== undefined && { uid }),
  groups,
  extra,
});
