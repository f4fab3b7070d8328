import { parseFieldSelector } from "../../../machinery/api/selectors/field-selector.ts";
import { parseLabelSelector } from "../../../machinery/api/selectors/parse-label-selector.ts";
import type { AuthorizationAttributes } from "../../../machinery/api/attributes.ts";
import { selectorTermsIfValid } from "../../../machinery/api/selectors/selector-terms-if-valid.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { labelSelectorRequirement } from "../../../machinery/schema/label-selector-schema.ts";
import { metaPackage } from "../../../machinery/schema/object-meta-schema.ts";
import { atomicList, named, object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";
import { userExtra } from "../../../machinery/schema/user-info-schema.ts";

const fieldSelectorRequirement = object({
  goType: "v1.FieldSelectorRequirement",
  package: metaPackage,
  description: "A condition on a field.",
  fields: {
    key: required(1, string, "The path of the field."),
    operator: required(2, named(string, "v1.FieldSelectorOperator"), "In, NotIn, Exists or DoesNotExist."),
    values: omitEmpty(3, atomicList(string), "The values of In and NotIn."),
  },
});

const requirements = { Field: fieldSelectorRequirement, Label: labelSelectorRequirement };

const selectorAttributes = (kind: keyof typeof requirements) =>
  struct(
    `v1.${kind}SelectorAttributes`,
    `A ${kind.toLowerCase()} selector of the request, as text or as requirements.`,
    {
      rawSelector: omitEmpty(1, string, "The selector as in a query, instead of requirements."),
      requirements: omitEmpty(2, atomicList(requirements[kind]), "Requirements that must all be met."),
    },
  );

const resourceAttributes = struct("v1.ResourceAttributes", "A resource request.", {
  namespace: omitEmpty(1, string, "The namespace; empty for all, or for cluster-scoped resources."),
  verb: omitEmpty(2, string, "The verb, such as get, list, create or impersonate; `*` means all."),
  group: omitEmpty(3, string, "The API group of the resource; `*` means all."),
  version: omitEmpty(4, string, "The API version of the resource; `*` means all."),
  resource: omitEmpty(5, string, "The resource, a plural; `*` means all."),
  subresource: omitEmpty(6, string, "The subresource."),
  name: omitEmpty(7, string, "The name of the object; empty for all."),
  fieldSelector: pointer(8, selectorAttributes("Field"), "The field selector of a list, watch or deletecollection."),
  labelSelector: pointer(9, selectorAttributes("Label"), "The label selector of a list, watch or deletecollection."),
});

const nonResourceAttributes = struct("v1.NonResourceAttributes", "A non-resource request.", {
  path: omitEmpty(1, string, "The path."),
  verb: omitEmpty(2, string, "The HTTP method in lower case."),
});

const requestFields = {
  resourceAttributes: pointer(1, resourceAttributes, "The resource request to check."),
  nonResourceAttributes: pointer(2, nonResourceAttributes, "The non-resource request to check."),
} as const;

/** The spec of a review about the caller. */
export const selfAccessReviewSpec = struct(
  "v1.SelfSubjectAccessReviewSpec",
  "The request to check. Set exactly one of the two fields.",
  requestFields,
);

/** The spec of a review about any user. */
export const accessReviewSpec = struct(
  "v1.SubjectAccessReviewSpec",
  "The request to check (set exactly one of the two attributes) and the user who would make it.",
  {
    ...requestFields,
    user: omitEmpty(3, string, "The user name. Groups are not added: list them in `groups`."),
    groups: omitEmpty(4, atomicList(string), "The groups of the user."),
    extra: omitEmpty(5, userExtra, "The extra of the user."),
    uid: omitEmpty(6, string, "The uid of the user."),
  },
);

export type ResourceAttributesSpec = Infer<typeof resourceAttributes>;
export type SelectorAttributes = NonNullable<ResourceAttributesSpec["fieldSelector"]>;
export type AccessRequest = Infer<typeof selfAccessReviewSpec>;
export type AccessReviewSpec = Infer<typeof accessReviewSpec>;

/** The request in the form that authorizers take. */
export function reviewedAttributes(request: AccessRequest, user: UserInfo): AuthorizationAttributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = request;
  if (resource === undefined) return { kind: "path", user, verb: path?.verb ?? "", path: path?.path ?? "" };
  const fieldSelector = termsOf(resource.fieldSelector, readers.fieldSelector);
  const labelSelector = termsOf(resource.labelSelector, readers.labelSelector);
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
    ...(fieldSelector.length > 0 && { fieldSelector }),
    ...(labelSelector.length > 0 && { labelSelector }),
  };
}

interface SelectorReader<Term> {
  readonly parse: (text: string) => readonly Term[];
  /** The part of a requirement that authorizers evaluate. Undefined for any other requirement. */
  readonly term: (requirement: Requirement) => Term | undefined;
}

/** The terms of the text, or of the requirements if there is no usable text. */
function termsOf<Term>(
  selector: SelectorAttributes | undefined,
  { parse, term }: SelectorReader<Term>,
): readonly Term[] {
  const { rawSelector = "", requirements = [] } = selector ?? {};
  const raw = selectorTermsIfValid(parse, rawSelector) ?? [];
  return raw.length > 0 ? raw : requirements.flatMap((one) => term(one) ?? []);
}

export type Requirement = NonNullable<SelectorAttributes["requirements"]>[number];

const fieldOperators = { In: "=", NotIn: "!=" } as const;
const labelOperators = { In: "in", NotIn: "notin", Exists: "exists", DoesNotExist: "doesNotExist" } as const;
const isFieldOperator = (text: string): text is keyof typeof fieldOperators => Object.hasOwn(fieldOperators, text);
const isLabelOperator = (text: string): text is keyof typeof labelOperators => Object.hasOwn(labelOperators, text);

/** Authorizers evaluate whether a field equals a value or not. */
function fieldTerm({ key: field, operator, values: [value, ...others] = [] }: Requirement) {
  if (!isFieldOperator(operator) || value === undefined || others.length > 0) return undefined;
  return { field, operator: fieldOperators[operator], value };
}

const labelTerm = ({ key, operator, values = [] }: Requirement) =>
  isLabelOperator(operator) ? { key, operator: labelOperators[operator], values } : undefined;

const readers = {
  fieldSelector: { parse: parseFieldSelector, term: fieldTerm },
  labelSelector: { parse: parseLabelSelector, term: labelTerm },
} as const;

/** The errors of selectors that were ignored because they cannot be parsed or evaluated (upstream: `BuildEvaluationError`). */
export function selectorEvaluationErrors(attributes: ResourceAttributesSpec | undefined): string[] {
  return (["fieldSelector", "labelSelector"] as const).flatMap((key) => {
    const { rawSelector = "", requirements = [] } = attributes?.[key] ?? {};
    const { parse, term } = readers[key];
    const ignored = requirements.filter((one) => term(one) === undefined).length;
    const isReadable = selectorTermsIfValid<unknown>(parse, rawSelector) !== undefined;
    if (ignored === 0 && isReadable) return [];
    const how = ignored === requirements.length ? "ignored" : "partially ignored";
    return [`spec.resourceAttributes.${key} ${how} due to parse error`];
  });
}

export const userOf = ({ user = "", groups = [], extra = {}, uid }: AccessReviewSpec): UserInfo => ({
  username: user,
  ...(uid !== undefined && { uid }),
  groups,
  extra,
});
