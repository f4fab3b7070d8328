import { spellingsOf } from "../../machinery/api/names.ts";
import type { Names } from "../../machinery/api/names.ts";
import { serviceAccountResource } from "./resources.ts";
import { validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { atomicList, boolean, mapList } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { localObjectReference, objectReference } from "../../machinery/schema/object-references.ts";
import { tokenSubresource } from "./token-request.ts";
import { omitEmpty, pointer, struct } from "../../machinery/schema/struct.ts";

const serviceAccountSchema = struct(
  "v1.ServiceAccount",
  "An identity in a namespace: a name that systems know, a principal that can be authenticated and authorized, and a set of secrets.",
  {
    ...objectFields,
    secrets: omitEmpty(
      2,
      mapList(objectReference, "name"),
      "Secrets in the same namespace that Pods of this account may use. The list limits Pods only when " +
        "the account has the annotation `platform.io/enforce-mountable-secrets`, or `kubernetes.io/enforce-mountable-secrets`, " +
        "set to `true`. Deprecated since v1.32, together with that annotation. It does not list the account's token " +
        "Secrets: request tokens with TokenRequest instead.",
    ),
    imagePullSecrets: omitEmpty(
      3,
      atomicList(localObjectReference),
      "Secrets in the same namespace with which the images of Pods that use this account are pulled. Only the node " +
        "agent can access them: Pods cannot mount them.",
    ),
    automountServiceAccountToken: pointer(
      4,
      boolean,
      "Whether Pods that run as this account get an API token mounted. A Pod can override this.",
    ),
  },
);

export type ServiceAccount = Infer<typeof serviceAccountSchema>;

export function serviceAccounts(names: Names): ResourceDefinition<ServiceAccount> {
  const enforceAnnotations = spellingsOf(names, (one) => one.key("enforce-mountable-secrets"));
  return defineResource({
    ...serviceAccountResource(names),
    shortNames: ["sa"],
    answersDeletedObject: true,
    answersStatusOfDeletedCollection: true,
    schema: serviceAccountSchema,
    validateName: validateDnsSubdomainName,
    prepareForCreate: keepNamesOfSecrets,
    prepareForUpdate: keepNamesOfSecrets,
    warningsOnCreate: ({ metadata }) => enforceAnnotations.flatMap((key) => deprecation(key, metadata.annotations)),
    // An update that keeps the annotation was already warned about.
    warningsOnUpdate: ({ metadata }, { previous }) =>
      enforceAnnotations
        .filter((key) => !Object.hasOwn(previous.metadata.annotations ?? {}, key))
        .flatMap((key) => deprecation(key, metadata.annotations)),
    columns: [nameColumn(names), ageColumn(names)],
    subresources: { token: tokenSubresource(names) },
  });
}

/** Keeps only the names of secrets: the rest of a reference would not be reliable. */
const keepNamesOfSecrets = (account: ServiceAccount): ServiceAccount =>
  account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => (name === undefined ? {} : { name })) };

const deprecation = (key: string, annotations: Readonly<Record<string, string>> = {}): string[] =>
  Object.hasOwn(annotations, key)
    ? [
        `metadata.annotations[${key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]
    : [];
