import { randomInt } from "node:crypto";
import { badRequest, notFound } from "../../api/api-error.ts";
import { goQuoted, shortened } from "../../api/text/format-value.ts";
import { pathSegmentFaults } from "../../api/validation/name-validation.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import type { GroupResource } from "../../api/resource-type.ts";
import type { ResourceDefinition } from "../definition/resource-definition.ts";

/** Sets the namespace of the request on an object without a namespace. Throws a 400 when the object has another namespace. */
export function inRequestNamespace<T extends ApiObject>(
  object: T,
  { scope, namespace }: { readonly scope: ResourceDefinition["scope"]; readonly namespace: string },
): T {
  const own = object.metadata.namespace ?? "";
  const wanted = scope === "Cluster" ? "" : namespace;
  if (own === wanted) return object;
  if (wanted === "") {
    const { namespace: _foreign, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
  if (own !== "") {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return { ...object, metadata: { ...object.metadata, namespace: wanted } };
}

/** Throws a 400 unless the object has the name in the path. */
export function checkName(object: ApiObject, name: string): void {
  const own = object.metadata.name ?? "";
  if (own === name) return;
  throw badRequest(
    own === ""
      ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${own}) does not match the name on the URL (${name})`,
  );
}

/** The characters of generated suffixes: no vowels, and no characters that look alike (upstream: `rand.String`). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maximumPrefixLength = 63 - suffixLength;

/** Generates a name with the prefix. The prefix is cut so that the name is a valid label. */
export function generateName(prefix: string): string {
  let name = prefix.slice(0, maximumPrefixLength);
  for (let at = 0; at < suffixLength; at += 1) name += alphabet.charAt(randomInt(alphabet.length));
  return name;
}

/** The 404 for an object that does not exist; a 400 for a name in a path that no object can have, as in upstream. */
export const notFoundOrInvalidName = (resource: GroupResource, name: string): Error =>
  (name.includes("/") ? undefined : invalidNameParameter(name)) ?? notFound(resource, name);

/** The 400 for a name that can't be a part of a storage key (upstream: `NamespaceKeyFunc`). Undefined for other names. */
export function invalidNameParameter(name: string): Error | undefined {
  const faults = pathSegmentFaults(name);
  if (faults.length === 0) return undefined;
  return badRequest(`Name parameter invalid: ${goQuoted(shortened(name))}: ${faults.join(";")}`);
}
