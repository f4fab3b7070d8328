import { internalError, statusOf } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";
import type { HttpRequest, HttpResponse } from "../api/http-message.ts";
import { CompiledSchema } from "../registry/definition/compiled-schema.ts";
import { statusSchema } from "../schema/meta-schemas.ts";
import { encodeEnvelope } from "../schema/protobuf/protobuf-envelope.ts";
import { currentTrace } from "../tracing/request-trace.ts";
import { contentTypes, isPretty, negotiateStatus } from "./negotiation.ts";
import type { MediaType } from "./negotiation.ts";
import { writeYaml } from "./yaml/write-yaml.ts";

/** JSON like upstream's: one line with a line feed, or indented by two spaces without one. */
const encodeJson = (value: unknown, options: { readonly isPretty: boolean }): string =>
  options.isPretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`;

/**
 * Encodes a value in the negotiated text format. Protobuf needs the kind's schema, so the caller must encode it; here
 * it falls back to JSON.
 */
export function textResponse(
  value: object,
  {
    request,
    status,
    mediaType,
  }: { readonly request: HttpRequest; readonly status: number; readonly mediaType: MediaType },
): HttpResponse {
  return mediaType.format === "yaml"
    ? yamlResponse(writeYaml(value), { status, value })
    : {
        status,
        headers: { "content-type": contentTypes.json },
        body: encodeJson(value, { isPretty: isPretty(request, mediaType) }),
      };
}

/** The answer with a value as YAML. The audit log has the value itself. */
export const yamlResponse = (
  body: string,
  { status, value }: { readonly status: number; readonly value: object },
): HttpResponse => ({ status, headers: { "content-type": contentTypes.yaml }, body, value });

/** Encodes a failure as a Status in a format that the request accepts, else in JSON. Never throws. */
export function errorResponse(error: ApiError, request: HttpRequest): HttpResponse {
  currentTrace()?.refused(error);
  try {
    return statusResponse(error, request);
  } catch {
    // If the error cannot be encoded, the client must still learn that the request failed.
    return {
      status: 500,
      headers: { "content-type": contentTypes.json },
      body: `${JSON.stringify(statusOf(internalError()))}\n`,
    };
  }
}

export const compiledStatus = new CompiledSchema(statusSchema);

function statusResponse(error: ApiError, request: HttpRequest): HttpResponse {
  const mediaType = negotiateStatus(request);
  const response: HttpResponse =
    mediaType.format === "protobuf"
      ? {
          status: error.code,
          headers: { "content-type": mediaType.contentType },
          body: encodeEnvelope(compiledStatus.protobuf, statusOf(error)),
        }
      : textResponse(statusOf(error), { request, status: error.code, mediaType });
  // The message quotes the caller's path, which a browser must not show as HTML.
  if (error.code === 403) response.headers["x-content-type-options"] = "nosniff";
  if (error.retryAfterSeconds !== undefined) response.headers["retry-after"] = String(error.retryAfterSeconds);
  return { ...response, audited: { error } };
}
