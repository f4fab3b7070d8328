import { protobufMediaType } from "../schema/protobuf/protobuf-envelope.ts";
import { notAcceptable, routeNotAcceptable } from "../api/api-error.ts";
import type { Headers, HttpRequest } from "../api/http-message.ts";
import { isTrueInGo } from "../api/text/is-true-in-go.ts";
import { mayHaveParameter, parametersOf } from "../registry/query-values.ts";
import type { MetaVersion } from "../registry/reads/partial-object-metadata.ts";
import { parseAccept, routeAccepts } from "./accept-header.ts";
import type { AcceptClause } from "./accept-header.ts";

export type Format = "json" | "yaml" | "protobuf";

/** A form that a client may request instead of the object itself (`as=Table;v=v1;g=meta.k8s.io`). */
interface Conversion {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  readonly version: MetaVersion;
}

/** The negotiated representation. Frozen and shared: several requests may get the same object. */
export interface MediaType {
  readonly format: Format;
  /** The Content-Type of a whole answer. */
  readonly contentType: string;
  readonly conversion?: Conversion;
  /** Indented JSON, as requested by the Accept header. `isPretty` implements the full rule. */
  readonly isPretty: boolean;
}

/** What is at a path: reviews and some subresources have no table form, and only collections can be watched. */
export type Endpoint = "collection" | "object" | "object without a table";

export const contentTypes: Readonly<Record<Format, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: protobufMediaType,
};

/** The supported types, in the server's order of preference. */
export const acceptedTypes: readonly string[] = Object.values(contentTypes);
const streamTypes: readonly string[] = [contentTypes.json, contentTypes.protobuf].map((type) => `${type};stream=watch`);
const collectionTypes: readonly string[] = [...acceptedTypes, ...streamTypes];

const formats: readonly { readonly format: Format; readonly subtype: string; readonly isStreamable: boolean }[] = [
  { format: "json", subtype: "json", isStreamable: true },
  { format: "yaml", subtype: "yaml", isStreamable: false },
  { format: "protobuf", subtype: "vnd.kubernetes.protobuf", isStreamable: true },
];

/** Limits the memory of each cache below. Clients send only a few different Accept headers. */
const maximumCachedHeaders = 512;

/** Negotiates the representation of an answer. Throws a 406 in upstream's words. */
export function negotiate(request: Pick<HttpRequest, "headers">, endpoint: Endpoint): MediaType {
  const agreed = endpointNegotiators[endpoint](acceptHeader(request.headers));
  if (agreed instanceof Error) throw agreed;
  return agreed;
}

/** Throws a 406 for YAML: the events of a watch are JSON lines or length-delimited protobuf. */
export function refuseUnstreamable({ format }: MediaType): void {
  if (format === "yaml") throw onlyAccepted(streamTypes);
}

/** Negotiates the format of a Status: indented JSON when none of the requested formats can be used (upstream: `WriteRawJSON`). */
export function negotiateStatus(request: Pick<HttpRequest, "headers">): MediaType {
  return statusMediaType(acceptHeader(request.headers));
}

/** Creates a negotiator for a document with a fixed path. Returns undefined when no clause can be met. */
export function documentNegotiator(restrictions: Restrictions = {}): (headers: Headers) => Agreed | undefined {
  const cached = cachedByHeader((header) => ({ agreed: agree(header, restrictions) }));
  return (headers) => cached(acceptHeader(headers)).agreed;
}

/**
 * Whether to indent JSON (upstream: `isPrettyPrint`): when `pretty` in the query or the Accept header says so, or for a
 * browser.
 */
export function isPretty(
  request: Pick<HttpRequest, "headers" | "query">,
  mediaType: Pick<MediaType, "isPretty">,
): boolean {
  if (mediaType.isPretty) return true;
  if (mayHaveParameter(request.query, "pretty")) {
    const value = parametersOf(request.query).get("pretty");
    if (value) return isTrueInGo(value);
  }
  const userAgent = request.headers["user-agent"];
  return typeof userAgent === "string" && /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent);
}

/** A format, with the parameters of its clause. */
export interface Agreed {
  readonly format: Format;
  readonly as: string;
  readonly version: string;
  readonly isPretty: boolean;
}

/** The kind that a clause asks for in place of the resource's own. Parameters that the clause omits are empty. */
export interface RequestedConversion {
  readonly kind: string;
  readonly version: string;
  readonly group: string;
  readonly format: Format;
}

interface Restrictions {
  /** Decides about `as`, `v` and `g`. Absent: no conversion is possible. */
  readonly isConversionAllowed?: (requested: RequestedConversion) => boolean;
  /** Whether only clauses with a conversion count. Default false. */
  readonly isConversionRequired?: boolean;
  /** The version of the server's own kinds, which a clause may name in `sv`. Absent: none. */
  readonly allowedServerVersion?: string;
}

const plainJson: Agreed = { format: "json", as: "", version: "", isPretty: false };

/** Chooses the first acceptable clause (upstream: `NegotiateMediaTypeOptions`). Unknown parameters are ignored. */
function agree(
  header: string,
  { isConversionAllowed, isConversionRequired = false, allowedServerVersion }: Restrictions,
): Agreed | undefined {
  if (header === "" && !isConversionRequired) return plainJson;
  for (const clause of parseAccept(header)) {
    for (const { format, subtype, isStreamable } of formats) {
      if (!matches(clause, subtype)) continue;
      const { parameters } = clause;
      const stream = parameters.get("stream");
      if (stream && (!isStreamable || stream !== "watch")) continue;
      const serverVersion = parameters.get("sv");
      if (serverVersion && serverVersion !== allowedServerVersion) continue;
      const isConverted = ["as", "v", "g"].some((name) => parameters.has(name));
      const [as = "", version = "", group = ""] = [parameters.get("as"), parameters.get("v"), parameters.get("g")];
      if (!isConverted && isConversionRequired) continue;
      if (isConverted && !isConversionAllowed?.({ kind: as, version, group, format })) continue;
      return { format, as, version, isPretty: parameters.get("pretty") === "1" };
    }
  }
  return undefined;
}

const matches = ({ type, subtype }: AcceptClause, offered: string): boolean =>
  (type === "application" && (subtype === offered || subtype === "*")) || (type === "*" && subtype === "*");

/** The representation that an Accept header gets, or the refusal. */
type EndpointNegotiator = (header: string) => MediaType | Error;

function endpointNegotiator(endpoint: Endpoint): EndpointNegotiator {
  const allowsTable = endpoint !== "object without a table";
  const isConversionAllowed = ({ kind, version, group, format }: RequestedConversion): boolean => {
    if (group !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return false;
    return kind === "Table" ? allowsTable && format !== "protobuf" : /^PartialObjectMetadata(?:List)?$/.test(kind);
  };
  const produces = endpoint === "collection" ? collectionTypes : acceptedTypes;
  return cachedByHeader((header) => {
    if (header !== "" && !routeAccepts(header, produces)) return routeNotAcceptable(produces);
    const agreed = agree(header, { isConversionAllowed, allowedServerVersion: "v1" });
    return agreed ? mediaType(agreed) : onlyAccepted(acceptedTypes);
  });
}

export const onlyAccepted = (types: readonly string[]): Error =>
  notAcceptable(`only the following media types are accepted: ${types.join(", ")}`);

/** Called only with conversions that `isConversionAllowed` accepted. */
function mediaType({ format, as, version, isPretty }: Agreed): MediaType {
  const conversion: Conversion | undefined =
    as === "Table" || as === "PartialObjectMetadata" || as === "PartialObjectMetadataList"
      ? { kind: as, version: version === "v1beta1" ? "v1beta1" : "v1" }
      : undefined;
  return Object.freeze({ format, contentType: contentTypes[format], isPretty, ...(conversion && { conversion }) });
}

const statusMediaType = cachedByHeader((header) => mediaType(agree(header, {}) ?? { ...plainJson, isPretty: true }));

const endpointNegotiators: Readonly<Record<Endpoint, EndpointNegotiator>> = {
  collection: endpointNegotiator("collection"),
  object: endpointNegotiator("object"),
  "object without a table": endpointNegotiator("object without a table"),
};

/** The text of the Accept header. Repeated headers are joined with commas; a missing one is empty. */
function acceptHeader(headers: Headers): string {
  const value = headers["accept"];
  return value === undefined ? "" : typeof value === "string" ? value : value.join(",");
}

function cachedByHeader<T>(compute: (header: string) => T): (header: string) => T {
  const cache = new Map<string, T>();
  return (header) => {
    const known = cache.get(header);
    if (known !== undefined) return known;
    const computed = compute(header);
    // Many different headers clear the cache from time to time, but it never grows beyond the limit.
    if (cache.size >= maximumCachedHeaders) cache.clear();
    if (header.length <= 1024) cache.set(header, computed);
    return computed;
  };
}
