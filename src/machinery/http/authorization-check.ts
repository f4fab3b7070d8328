import type { AuthorizationAttributes } from "../api/attributes.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { ParsedRequestInfo } from "./parse-request-info.ts";

/** The authorizer's input for a request. A list or watch of one name, through a field selector, has that name. */
export function attributesOf(info: ParsedRequestInfo, user: UserInfo, query: string): AuthorizationAttributes {
  if (info.kind === "path") return { kind: "path", user, verb: info.verb, path: info.path };
  const { verb, group, version, resource, subresource, namespace, name } = info;
  const attributes = { kind: "resource" as const, user, verb, group, version, resource, subresource, namespace, name };
  if (query === "" || name !== "" || !selectingVerbs.has(verb)) return attributes;
  return { ...attributes, ...selectorsOf(query) };
}

const selectingVerbs: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

function selectorsOf(query: string): {
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
} {
  if (!query.includes("Selector")) return {};
  const parameters = new URLSearchParams(query);
  const fieldSelector = parameters.get("fieldSelector");
  const labelSelector = parameters.get("labelSelector");
  const name = fieldSelector ? selectedName(fieldSelector) : undefined;
  return { ...(name && { name }), ...(fieldSelector && { fieldSelector }), ...(labelSelector && { labelSelector }) };
}

/** The name that `metadata.name=NAME` requires, if it is valid in a path. */
function selectedName(fieldSelector: string): string | undefined {
  for (const term of fieldSelector.split(",")) {
    const [, name] = /^\s*metadata\.name\s*==?\s*(.*?)\s*$/.exec(term) ?? [];
    if (name && name !== "." && name !== ".." && !/[/%\\]/.test(name)) return name;
  }
  return undefined;
}
