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
    description: `A ${kind.toLowerCase()} selector that the request would have: as text, or as conditions.`,
    fields: {
      rawSelector: { number: 1, schema: string, description: "The selector as in a query. It is not evaluated here." },
      requirements: {
        number: 2,
        schema: atomicList(requirement(`v1.${kind}SelectorRequirement`, `a ${kind.toLowerCase()}`)),
        description: "Conditions that must all hold.",
      },
    },
  });

const resourceAttributes = object({
  goType: "v1.ResourceAttributes",
  description: "A request to a resource.",
  fields: {
    namespace: {
      number: 1,
      schema: string,
      description: "The namespace; empty for all, or for cluster-scoped resources.",
    },
    verb: {
      number: 2,
      schema: string,
      description: "The verb, such as get, list, create or impersonate; `*` is every one.",
    },
    group: { number: 3, schema: string, description: "The API group of the resource; `*` is every one." },
    version: { number: 4, schema: string, description: "The API version of the resource; `*` is every one." },
    resource: { number: 5, schema: string, description: "The resource, a plural; `*` is every one." },
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
  description: "A request to a path that is no resource.",
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
    description: "The request to a resource that is asked about.",
  },
  nonResourceAttributes: {
    number: 2,
    schema: nonResourceAttributes,
    presence: "pointer",
    description: "The request to a path that is asked about.",
  },
} as const;

/** A question of callers about themselves. */
export const selfAccessReviewSpec = object({
  goType: "v1.SelfSubjectAccessReviewSpec",
  description: "The request that is asked about: exactly one of the two.",
  fields: requestFields,
});

/** A question about any user. */
export const accessReviewSpec = object({
  goType: "v1.SubjectAccessReviewSpec",
  description: "The request that is asked about, exactly one of the two, and who would make it.",
  fields: {
    ...requestFields,
    user: { number: 3, schema: string, description: "The user. Without groups: exactly this user, in no group." },
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
export function attributesOf(request: AccessRequest, user: UserInfo): AuthorizationAttributes {
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
  };
}

/** As much of a selector as authorizers look at: equality with one value. */
function fieldSelectorOf(selector: SelectorAttributes | undefined): Pick<ResourceAttributes, "fieldSelector"> {
  const terms = (selector?.requirements ?? []).flatMap(({ key: field, operator, values: [value, ...others] = [] }) =>
    operator === "In" && value !== undefined && others.length === 0 ? [{ field, operator: "=" as const, value }] : [],
  );
  return terms.length === 0 ? {} : { fieldSelector: terms };
}

export const userOf = ({ user = "", groups = [], extra = {}, uid }: AccessReviewSpec): UserInfo => ({
  username: user,
  ...(uid !== undefined && { uid }),
  groups,
  extra,
});
