import { createHash, createPublicKey, randomUUID, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { microTimestamp } from "../../api/clock.ts";
import { auditApiVersion, encodeEvent } from "../audit-event.ts";

/** The annotations that link the lines of an audit log to a chain. They are Signet's own: upstream has no chain. */
const keys = {
  sequence: "chain.signet.platform.io/sequence",
  previous: "chain.signet.platform.io/previous",
  checkpoint: "chain.signet.platform.io/checkpoint",
  key: "chain.signet.platform.io/key",
  signature: "chain.signet.platform.io/signature",
} as const;

/**
 * begin: the first line of a file. resume: a process continues after lines of other processes, all of which have ended. regular: in
 * between, after some time or number of lines. end: the last line of a file, or of a process that stops.
 */
const checkpointTypes = ["begin", "resume", "regular", "end"] as const;
export type CheckpointType = (typeof checkpointTypes)[number];

/** The place of a line in the chain. */
export interface ChainPosition {
  /** Counts the lines from 1, across files and restarts. */
  readonly sequence: number;
  /** SHA-256 of the line, in hexadecimal digits. */
  readonly hash: string;
}

export interface ParsedLine {
  readonly sequence: number;
  /** The hash of the line before. */
  readonly previous: string;
  readonly checkpoint:
    | { readonly type: CheckpointType; readonly signature: string; readonly signed: string }
    | undefined;
}

/** The position before the first line. */
export const startOfChain: ChainPosition = { sequence: 0, hash: "0".repeat(64) };

export const hashOf = (line: string | Buffer): string => createHash("sha256").update(line).digest("hex");

/** The SHA-256 of a public key (SPKI), in hexadecimal digits. It names the key that signed a checkpoint. */
const keyId = (key: KeyObject): string =>
  createHash("sha256")
    .update((key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" }))
    .digest("hex");

/** Adds the place in the chain to an encoded event, whose last member is its annotations. */
export function linkedLine(line: string, before: ChainPosition): string {
  return withAnnotations(line, { [keys.sequence]: String(before.sequence + 1), [keys.previous]: before.hash });
}

function withAnnotations(line: string, annotations: Readonly<Record<string, string>>): string {
  const separator = line.endsWith("{}}") ? "" : ",";
  return `${line.slice(0, -2)}${separator}${JSON.stringify(annotations).slice(1, -1)}}}`;
}

/** A signed line that is an event of its own. The signature covers the whole line with an empty signature. */
export function checkpointLine(
  type: CheckpointType,
  { before, privateKey, now }: { readonly before: ChainPosition; readonly privateKey: KeyObject; readonly now: number },
): string {
  const time = microTimestamp(now);
  const event = encodeEvent(
    {
      kind: "Event",
      apiVersion: auditApiVersion,
      level: "Metadata",
      auditID: randomUUID(),
      stage: "ResponseComplete",
      requestURI: "",
      verb: "",
      user: {},
      requestReceivedTimestamp: time,
      stageTimestamp: time,
    },
    { format: "json", hasAnnotations: true },
  );
  const linked = withAnnotations(linkedLine(event, before), { [keys.checkpoint]: type, [keys.key]: keyId(privateKey) });
  const signature = sign(null, signedBytes(withAnnotations(linked, { [keys.signature]: "" })), privateKey);
  return withAnnotations(linked, { [keys.signature]: signature.toString("hex") });
}

/** The first line makes sure that a signature of other data is not valid for a checkpoint. */
const signedBytes = (unsigned: string): Buffer => Buffer.from(`signet audit checkpoint\n${unsigned}`);

export const isCheckpointSignedBy = (
  publicKey: KeyObject,
  { signature, signed }: NonNullable<ParsedLine["checkpoint"]>,
): boolean => verify(null, signedBytes(signed), publicKey, Buffer.from(signature, "hex"));

const member = (key: string, value: string): string => `"${key.replaceAll(".", "\\.")}":"(${value})"`;

/** The chain's annotations, which are the last ones: an admission policy may add annotations of any name, but they come before. */
const placeAtEnd = new RegExp(
  `${member(keys.sequence, "[1-9]\\d{0,14}")},${member(keys.previous, "[0-9a-f]{64}")}` +
    `(?:,${member(keys.checkpoint, checkpointTypes.join("|"))},${member(keys.key, "[0-9a-f]{64}")},` +
    `${member(keys.signature, "[0-9a-f]{128}")})?\\}\\}$`,
);

/** Parses the position and the checkpoint of a line. Undefined for a text that is not a line of a chain. */
export function parseLine(line: string): ParsedLine | undefined {
  const [, sequence, previous, checkpoint, , signature] = placeAtEnd.exec(line) ?? [];
  if (sequence === undefined || previous === undefined) return undefined;
  const position = { sequence: Number(sequence), previous };
  const type = checkpointTypes.find((one) => one === checkpoint);
  if (type === undefined || signature === undefined) return { ...position, checkpoint: undefined };
  const signed = line.slice(0, -(signature.length + 3)) + line.slice(-3);
  return { ...position, checkpoint: { type, signature, signed } };
}
