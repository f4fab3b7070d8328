import { routeUnsupportedMediaType, unsupportedMediaType } from "../api/api-error.ts";
import type { Headers } from "../api/http-message.ts";
import { patchMediaTypes } from "../api/patch-type.ts";
import type { PatchType } from "../api/patch-type.ts";
import { acceptedTypes, contentTypes } from "./negotiation.ts";
import type { Format } from "./negotiation.ts";
import { firstSent } from "./sent-header.ts";

const formatOfType: ReadonlyMap<string, Format> = new Map([
  [contentTypes.json, "json"],
  [contentTypes.yaml, "yaml"],
  [contentTypes.protobuf, "protobuf"],
]);

const patchTypeOfType = new Map<string, PatchType>(
  (["json", "merge", "strategic-merge", "apply"] as const).map((type) => [patchMediaTypes[type], type]),
);

const token = "[\\w!#$%&'*+.^`{|}~-]+";
/** A parameter as Go's `mime.ParseMediaType` reads it, with blanks around its `=`. Its value is a token, or quoted. */
const parameter = new RegExp(`[ \\t]*;[ \\t]*(${token})[ \\t]*=[ \\t]*(?:(${token})|"((?:[^"\\\\]|\\\\.)*)")`, "gy");

/**
 * The format of an object in a request body. Default: JSON. But a browser must name the format: a page of any server can make it send a
 * body without a type, with its user's client certificate, but a body with one of these types only if this server allows it. Throws a 415.
 */
export function bodyFormat(headers: Headers): Format {
  if (headers["origin"] !== undefined && contentTypeOf(headers) === "") {
    throw unsupportedMediaType(
      "a request of a web page must name the type of its body: set Content-Type, such as application/json",
    );
  }
  const format = formatOf(contentTypeOf(headers));
  if (format === undefined) throw unknownFormat(acceptedTypes);
  return format;
}

/**
 * The type of a patch. Throws a 415. The router (upstream: go-restful's `matchesContentType`) looks for a type in a list, and the
 * patch needs only that type. Names are compared as sent.
 */
export function patchType(headers: Headers): PatchType {
  const header = contentTypeOf(headers);
  if (!header.split(",").some((one) => patchTypeOfType.has(withoutParameters(one).trim()))) {
    throw routeUnsupportedMediaType();
  }
  const type = patchTypeOfType.get(withoutParameters(header));
  if (type === undefined) throw unknownFormat([...patchTypeOfType.keys()]);
  return type;
}

const unknownFormat = (accepted: readonly string[]): Error =>
  unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

const contentTypeOf = (headers: Headers): string => firstSent(headers, "content-type") ?? "";

const withoutParameters = (header: string): string => header.split(";", 1)[0] ?? "";

function formatOf(header: string): Format | undefined {
  // Nearly every client sends one of these names, which need no parsing.
  const known = formatOfType.get(header);
  if (known !== undefined || header === "") return known ?? "json";
  const type = withoutParameters(header);
  const format = formatOfType.get(type.trim().toLowerCase());
  return format !== undefined && areParameters(header.slice(type.length)) ? format : undefined;
}

/** Whether each parameter is well formed, and none has two values. The text may end with a `;`. */
function areParameters(text: string): boolean {
  const values = new Map<string, string>();
  let length = 0;
  for (const [read, name = "", word, quoted = ""] of text.matchAll(parameter)) {
    const key = name.toLowerCase();
    const value = word ?? unescaped(quoted);
    if ((values.get(key) ?? value) !== value) return false;
    values.set(key, value);
    length += read.length;
  }
  return ["", ";"].includes(text.slice(length).trim());
}

/** Removes the backslashes that escape characters. Keeps a backslash before a character that needs no escape. */
const unescaped = (quoted: string): string => quoted.replaceAll(/\\([()<>@,;:\\"/[\]?=])/g, "$1");
