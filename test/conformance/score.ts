import { isDeepStrictEqual } from "node:util";
import type { Summary } from "./scenario.ts";

/**
 * How far an answer agrees: `status` is the HTTP status and a Status' reason; `body` also the body without managedFields,
 * with messages in any words; `exact` also messages, managedFields, warnings and content type.
 */
export const levels = ["status", "body", "exact"] as const;
export type Level = (typeof levels)[number];
export type Score = Readonly<Record<Level, boolean>>;

/** Fields whose text is for humans. The text must exist, and may be worded differently. */
const worded = new Set(["message", "error", "evaluationError"]);

function lenient(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lenient);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "managedFields")
      .map(([name, field]) => [
        name,
        worded.has(name) && typeof field === "string" && field ? "<text>" : lenient(field),
      ]),
  );
}

/** The parts of an answer that a level compares. */
export function view(summary: Summary, level: Level): unknown {
  if (level === "exact") return summary;
  if (level === "body") {
    const { status, body, events, claims, lifetimeSeconds } = summary;
    return lenient({ status, body, events, claims, lifetimeSeconds });
  }
  const body = summary.body as { kind?: unknown; reason?: unknown } | undefined;
  return { status: summary.status, reason: body?.kind === "Status" ? body.reason : undefined };
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

export function score(expected: Summary, actual: Summary): Score {
  const agrees = (level: Level): boolean => isDeepStrictEqual(plain(view(expected, level)), plain(view(actual, level)));
  return { status: agrees("status"), body: agrees("body"), exact: agrees("exact") };
}

/** Lists the places where two values differ, as `pointer: expected -> received`. */
export function differences(expected: unknown, actual: unknown, path = ""): string[] {
  if (isDeepStrictEqual(expected, actual)) return [];
  const areNested =
    typeof expected === "object" &&
    expected !== null &&
    typeof actual === "object" &&
    actual !== null &&
    Array.isArray(expected) === Array.isArray(actual);
  if (!areNested) {
    const short = (value: unknown): string => String(JSON.stringify(value)).slice(0, 200);
    return [`${path || "/"}: ${short(expected)} -> ${short(actual)}`];
  }
  const left = expected as Record<string, unknown>;
  const right = actual as Record<string, unknown>;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) =>
    differences(left[key], right[key], `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}
