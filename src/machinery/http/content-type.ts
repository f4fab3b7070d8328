import { routeUnsupportedMediaType, unsupportedMediaType } from "../api/api-error.ts";
import type { Headers } from "../api/http-message.ts";
import { acceptedTypes, contentTypes } from "./negotiation.ts";
import type { Format } from "./negotiation.ts";

export type PatchType = "json" | "merge" | "strategic" | "apply";

const formatOfType: ReadonlyMap<string, Format> = new Map([
  ["", "json"],
  [contentTypes.json, "json"],
  [contentTypes.yaml, "yaml"],
  [contentTypes.protobuf, "protobuf"],
]);

/** The exact values that nearly every client sends. They need no parsing. */
const contentTypesOfClients: ReadonlySet<string> = new Set(Object.values(contentTypes));

const patchTypeOfType: ReadonlyMap<string, PatchType> = new Map([
  ["application/json-patch+json", "json"],
  ["application/merge-patch+json", "merge"],
  ["application/strategic-merge-patch+json", "strategic"],
  ["application/apply-patch+yaml", "apply"],
]);

const token = "[\\w!#$%&'*+.^`|~-]+";
/** The syntax that Go's `mime.ParseMediaType` accepts: a type, and parameters that have a value. */
const mediaTypeSyntax = new RegExp(
  `^\\s*${token}(?:/${token})?\\s*(?:;\\s*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*")\\s*)*(?:;\\s*)?$`,
);

/** The format of an object in a request body. Default: JSON. Throws a 415. */
export function bodyFormat(headers: Headers): Format {
  const format = isMalformed(headers) ? undefined : formatOfType.get(mediaTypeOf(headers).toLowerCase());
  if (format === undefined) {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: ${acceptedTypes.join(", ")}`,
    );
  }
  return format;
}

/** The type of a patch. Throws a 415. Names are compared as sent (upstream: go-restful's `matchesContentType`). */
export function patchType(headers: Headers): PatchType {
  const type = patchTypeOfType.get(mediaTypeOf(headers));
  if (type === undefined) throw routeUnsupportedMediaType();
  return type;
}

function isMalformed({ "content-type": value }: Headers): boolean {
  const first = typeof value === "object" ? value[0] : value;
  return first !== undefined && first !== "" && !contentTypesOfClients.has(first) && !mediaTypeSyntax.test(first);
}

function mediaTypeOf(headers: Headers): string {
  const value = headers["content-type"];
  if (value === undefined) return "";
  const first = typeof value === "string" ? value : (value[0] ?? "");
  const end = first.indexOf(";");
  return (end < 0 ? first : first.slice(0, end)).trim();
}
