import { isUtf8 } from "node:buffer";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { inTurns, shortTextLength, smallObjectLength } from "../../scheduling/request-turn.ts";
import { JsonSyntaxError } from "../../schema/json-reader.ts";
import { parseJsonBytesInSteps } from "../../schema/parse-json.ts";
import type { ParsedJson } from "../../schema/parse-json.ts";
import { currentTrace } from "../../tracing/request-trace.ts";
import { bodyFormat } from "../content-type.ts";
import { decodeUtf8InTurns } from "../decode-utf8-in-turns.ts";
import type { Format } from "../negotiation.ts";
import { jsonInYaml, YamlFault, yamlToJsonInTurns } from "../yaml/yaml-to-json.ts";
import { longRequestTurn } from "./long-request-turn.ts";
import type { TurnTaker } from "./long-request-turn.ts";
import type { ResourceRequest } from "./resource-request.ts";

interface BodyIn<F extends Format> {
  readonly format: F;
  readonly bytes: Buffer;
  /** The value that a caller in this process passes instead of bytes. */
  readonly value?: object;
}

/** A body as it was sent. */
export type RequestBody = BodyIn<"json"> | BodyIn<"yaml"> | BodyIn<"protobuf">;

/** A body whose slow steps are done, except parsing the JSON that was made of YAML. */
export type ReadableBody =
  /** `parsed`: the value of a long body, or why it cannot be parsed. */
  | (BodyIn<"json"> & { readonly parsed?: ParsedJson | JsonSyntaxError })
  /** `json`: the body converted to JSON, or why it cannot be converted. */
  | (BodyIn<"yaml"> & { readonly json: string | YamlFault })
  | BodyIn<"protobuf">;

/** The sender of a body, who may have to wait for a turn. */
export type BodySender = TurnTaker & Pick<ResourceRequest, "mayTakeLong">;

/** Reads the whole body. `maximumBytes` can lower the general limit. Throws 413 and 415. */
export function readBody(sender: BodySender, maximumBytes = Infinity): MaybePromise<RequestBody> {
  const { request } = sender;
  const format = bodyFormat(request.headers);
  const value = request.inProcess?.value;
  // A value has no length that could be limited.
  if (value !== undefined && maximumBytes === Infinity) return { format, bytes: noBytes, value };
  return readBytes(sender, maximumBytes).then((bytes) => ({ format, bytes }));
}

/**
 * Reads the bytes of a body of any type, and waits for the turn of a request that may take long. Throws a 413, and a 401 when the
 * sender's credential was revoked meanwhile: otherwise a client that holds back a part of its body could act after the revocation.
 */
export async function readBytes(sender: BodySender, maximumBytes = Infinity): Promise<Buffer> {
  const trace = currentTrace();
  trace?.begin("read body");
  const bytes = await sender.request.readBody(maximumBytes);
  if (takesTurn(sender, bytes)) await longRequestTurn(sender, bytes.length);
  sender.refuseRevoked();
  trace?.begin("decode");
  return bytes;
}

const takesTurn = ({ mayTakeLong }: BodySender, { length }: Buffer | string): boolean =>
  mayTakeLong || length > smallObjectLength;

/**
 * Converts the YAML of a body to JSON. A text that is not JSON already takes a hundred times as long, so it is converted in turns of the
 * event loop. Throws a YamlFault and a 413.
 */
export async function readYaml(bytes: Buffer, sender: BodySender): Promise<string> {
  // Upstream refuses it too: a file in another character set would be stored without its accents.
  if (!isUtf8(bytes)) throw new YamlFault("yaml: the text is not UTF-8");
  const text = bytes.toString("utf8");
  const json = jsonInYaml(text);
  if (json !== undefined) return json;
  // Waits only if `readBytes` has not: while a request waits here, its text is in memory besides its bytes.
  if (!takesTurn(sender, text)) await longRequestTurn(sender);
  return yamlToJsonInTurns(text);
}

/** Does the slow steps for a body in turns of the event loop: converts YAML, and parses long JSON. */
export function readableBody(body: RequestBody, sender: BodySender): MaybePromise<ReadableBody> {
  if (body.format === "yaml") return withYaml(body, sender);
  return body.format === "json" && body.bytes.length > shortTextLength ? withParsed(body) : body;
}

async function withYaml(body: BodyIn<"yaml">, sender: BodySender): Promise<ReadableBody> {
  try {
    return { ...body, json: await readYaml(body.bytes, sender) };
  } catch (error) {
    if (error instanceof YamlFault) return { ...body, json: error };
    throw error;
  }
}

async function withParsed(body: BodyIn<"json">): Promise<ReadableBody> {
  const text = await decodeUtf8InTurns(body.bytes);
  try {
    return { ...body, parsed: await inTurns(parseJsonBytesInSteps(body.bytes, text)) };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return { ...body, parsed: error };
    throw error;
  }
}
