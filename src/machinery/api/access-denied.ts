import { forbidden } from "./api-error.ts";
import type { ApiError } from "./api-error.ts";
import type { AuthorizationAttributes } from "./attributes.ts";
import { goQuoted } from "./text/format-value.ts";

/**
 * The 403 that says which user may not do what (upstream: `responsewriters.Forbidden`). `reason` comes from the
 * authorizer.
 */
export function accessDenied(attributes: AuthorizationAttributes, reason: string): ApiError {
  const sentence = [withoutMarkup(whatIsDenied(attributes)), reason].filter((part) => part !== "").join(": ");
  return attributes.kind === "path"
    ? forbidden({ group: "", resource: "" }, { message: sentence })
    : forbidden(attributes, { name: attributes.name, message: sentence });
}

/** The caller chose the names in the sentence, so no browser may read them as markup. */
const withoutMarkup = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function whatIsDenied(attributes: AuthorizationAttributes): string {
  const who = `User ${goQuoted(attributes.user.username)} cannot ${attributes.verb}`;
  if (attributes.kind === "path") return `${who} path ${goQuoted(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuoted(namespace)}`;
  return `${who} resource ${goQuoted(what)} in API group ${goQuoted(group)} ${where}`;
}
