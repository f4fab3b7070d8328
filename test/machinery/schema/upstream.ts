import { readFileSync } from "node:fs";
import { largestInt64 } from "../../../src/machinery/schema/decode-scalar.ts";

interface Decoding {
  readonly kind: string;
  readonly text: string;
  readonly error?: string;
  readonly value?: Record<string, unknown>;
  readonly strict?: readonly string[];
}

/** JavaScript reads Go's largest int64 as 2^63. */
const readable = (_key: string, value: unknown): unknown => (value === 2 ** 63 ? largestInt64 : value);

/** What Kubernetes' Go libraries answered; see fixtures/README.md. */
export const upstream = JSON.parse(
  readFileSync(new URL("fixtures/upstream.json", import.meta.url), "utf8"),
  readable,
) as {
  readonly envelopes: readonly {
    readonly name: string;
    readonly json: Record<string, unknown>;
    readonly envelope: string;
  }[];
  readonly watchFrame: { readonly type: string; readonly envelope: string; readonly frame: string };
  readonly decodings: readonly Decoding[];
  readonly syntaxErrors: Readonly<Record<string, string>>;
};
