import { storedResources } from "../../src/server/served-kinds.ts";
import { describedReviews } from "../../tools/reference/described-reviews.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { apiPathOf, apiVersionOf } from "../../src/machinery/api/resource-type.ts";
import type { ObjectSchema } from "../../src/machinery/schema/schema.ts";

/** A kind that the server stores. */
export interface StoredKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
  readonly schema: ObjectSchema;
  /** Of subresources that are views of the object; `create` subresources are among the reviews. */
  readonly subresources: readonly string[];
  /** `/api/v1`. */
  readonly root: string;
}

/** A kind that is answered and never stored: a review, or a subresource that is only created. */
export interface ReviewKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: ObjectSchema;
  /** Where it is posted, for an object or namespace of that name. */
  target(namespace: string, name: string): string;
}

export interface ServedKinds {
  readonly stored: readonly StoredKind[];
  readonly reviews: readonly ReviewKind[];
}

/** Every kind, subresource and review that a server of the profile serves, from the definitions that it serves by. */
export function servedKinds(profile: Profile): ServedKinds {
  const names = namesFor(profile);
  const definitions = storedResources(names);
  const stored = definitions.map((definition) => ({
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    plural: definition.plural,
    isNamespaced: definition.scope === "Namespaced",
    schema: definition.schema,
    subresources: Object.entries(definition.subresources ?? {}).flatMap(([name, { type }]) =>
      type === "update" ? [name] : [],
    ),
    root: apiPathOf(definition),
  }));
  const created = definitions.flatMap((definition) =>
    Object.entries(definition.subresources ?? {}).flatMap(([subresource, described]) =>
      described.type === "create"
        ? [
            {
              apiVersion: apiVersionOf(described),
              kind: described.kind,
              schema: described.schema,
              target: (namespace: string, name: string) =>
                `${apiPathOf(definition)}/namespaces/${namespace}/${definition.plural}/${name}/${subresource}`,
            },
          ]
        : [],
    ),
  );
  const reviews = describedReviews(names).map((definition) => ({
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    schema: definition.schema,
    target: (namespace: string) =>
      `${apiPathOf(definition)}/${definition.scope === "Namespaced" ? `namespaces/${namespace}/` : ""}${definition.plural}`,
  }));
  return { stored, reviews: [...created, ...reviews] };
}
