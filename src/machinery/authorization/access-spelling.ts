import type { AuthorizationAttributes } from "../api/attributes.ts";
import type { Names } from "../api/names.ts";

/** Respells the name of something that is not an API object, such as a signer, as `names` spell it. Other names stay as they are. */
export type SpellObjectName = (names: Names, name: string) => string;

/** The virtual resource whose subresources are keys: who may impersonate an extra key. */
const userExtras = "userextras";

/**
 * Converts the names in rules, and in requests that are compared with rules, to one spelling. Every comparison converts both sides, so that
 * a rule grants the same whichever spelling of a group or signer it uses.
 */
export interface AccessSpelling {
  group(group: string): string;
  /** Respells a resource as rules name it: with the subresource after a slash. */
  resource(resource: string): string;
  objectName(name: string): string;
}

export const accessSpelling = (names: Names, spellObjectName: SpellObjectName): AccessSpelling => ({
  group: (group) => names.ownGroup(group),
  resource: (resource) =>
    resource.startsWith(`${userExtras}/`)
      ? `${userExtras}/${names.ownKey(resource.slice(userExtras.length + 1))}`
      : resource,
  objectName: (name) => spellObjectName(names, name),
});

/** The attributes in the spelling that authorizers compare. Returns the same object if nothing differs. */
export function respelledAttributes(
  spelling: AccessSpelling,
  attributes: AuthorizationAttributes,
): AuthorizationAttributes {
  if (attributes.kind === "path") return attributes;
  const group = spelling.group(attributes.group);
  const name = spelling.objectName(attributes.name);
  const subresource =
    attributes.resource === userExtras
      ? spelling.resource(`${userExtras}/${attributes.subresource}`).slice(userExtras.length + 1)
      : attributes.subresource;
  const isSame = group === attributes.group && name === attributes.name && subresource === attributes.subresource;
  return isSame ? attributes : { ...attributes, group, name, subresource };
}
