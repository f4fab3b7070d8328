import { createHash } from "node:crypto";
import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import { compileProtobuf } from "../../schema/protobuf/protobuf.ts";
import { encodeEnvelope } from "../../schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../schema/schema.ts";
import { acceptedTypes, contentTypes, documentNegotiator, onlyAccepted } from "../negotiation.ts";
import type { PathRoute } from "./path-routes.ts";
import { textResponse } from "../response.ts";

const negotiateDocument = documentNegotiator();

export interface Document {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly [member: string]: unknown;
}

interface DocumentOptions {
  /** The schema of the document in protobuf. Without it, a client that asks for protobuf gets JSON. */
  readonly schema?: ObjectSchema;
  /** Whether every client gets JSON, indented as upstream's `WriteRawJSON` does. */
  readonly isJsonOnly?: boolean;
  /** Whether upstream's aggregator serves the document: to every method, and for media ranges like `application/*` too. */
  readonly isOfAggregator?: boolean;
}

/** Encodes documents of a schema as protobuf, in the envelope of every object. */
export function documentEncoder(schema: ObjectSchema): (document: Document) => Buffer {
  const codec = compileProtobuf(schema);
  return (document) => encodeEnvelope(codec, { apiVersion: "", kind: "", ...document });
}

/** Serves a document as JSON, YAML or protobuf. */
export function documentRoute(
  document: Document | (() => Document),
  { schema, isJsonOnly = false, isOfAggregator = false }: DocumentOptions = {},
): PathRoute {
  const encode = schema && documentEncoder(schema);
  return {
    methods: isOfAggregator ? "any" : "get",
    allowsSlash: true,
    ...(!isOfAggregator && { produces: isJsonOnly ? [contentTypes.json] : acceptedTypes }),
    handle: (request) => {
      const agreed = isJsonOnly ? undefined : negotiateDocument(request.headers);
      if (!isJsonOnly && agreed === undefined) throw onlyAccepted(acceptedTypes);
      const format = agreed?.format === "yaml" ? "yaml" : "json";
      const mediaType = { format, contentType: contentTypes[format], isPretty: agreed?.isPretty ?? true } as const;
      const value = typeof document === "function" ? document() : document;
      if (agreed?.format === "protobuf" && encode) {
        return { status: 200, headers: { "content-type": contentTypes.protobuf }, body: encode(value), value };
      }
      return textResponse(value, { request, status: 200, mediaType });
    },
  };
}

/** Bytes with an entity tag of their content (RFC 9110, section 8.8.3). */
export interface TaggedDocument {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The tag without its quotes: SHA-512 in upper-case hexadecimal, as in upstream. */
  readonly tag: string;
}

export function taggedDocument(document: object, contentType: string): TaggedDocument {
  const bytes = Buffer.from(JSON.stringify(document));
  return { contentType, bytes, tag: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}

/** The document, or a 304 when the client already has this tag. */
export function taggedResponse(request: HttpRequest, { contentType, bytes, tag }: TaggedDocument): HttpResponse {
  const headers = { etag: `"${tag}"`, vary: "Accept" };
  const known = String(request.headers["if-none-match"] ?? "");
  if (known === "*" || known.includes(`"${tag}"`)) return { status: 304, headers, body: "" };
  return { status: 200, headers: { ...headers, "content-type": contentType }, body: bytes };
}
