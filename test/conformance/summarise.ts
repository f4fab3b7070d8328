import { removeAt, valueAt } from "./json-pointer.ts";
import type { Step, Summary, Variables } from "./scenario.ts";

/** An answer as received: a body, or the events of a watch. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text?: string;
  readonly events?: readonly unknown[];
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
const jwt = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

/** Replaces values that differ from run to run by placeholders: times, uids, versions, tokens, captured variables. */
export function normalise(value: unknown, variables: Variables, key = ""): unknown {
  if (typeof value === "string") return normaliseText(value, variables, key);
  if (typeof value === "number" && key === "exp") return "<exp>";
  if (Array.isArray(value)) {
    return value.map((item) => {
      if (key !== "cells") return normalise(item, variables);
      return typeof item === "string" && /^(\d+[smhdy])+$/.test(item) ? "<age>" : normalise(item, variables);
    });
  }
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    out[name] = name === "remainingItemCount" ? field : normalise(field, variables, name);
  }
  return out;
}

function normaliseText(value: string, variables: Variables, key: string): string {
  if (jwt.test(value)) return "<jwt>";
  if (key === "resourceVersion") return value === "" ? "" : "<rv>";
  if (key === "continue") return value === "" ? "" : "<continue>";
  let text = value;
  for (const [name, captured] of Object.entries(variables).sort((a, b) => b[1].length - a[1].length)) {
    if (captured.length >= 6) text = text.replaceAll(captured, `\${${name}}`);
  }
  text = text.replace(uuid, "<uuid>").replace(time, "<time>");
  if (!/message|reason/.test(key)) return text;
  return text.replace(/\b\d{2,}\b/g, "<n>").replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<jwt>");
}

/** Returns the compared parts of an answer. `inbound` translates a profile's names to those of the vectors. */
export function summarise(
  answer: Answer,
  {
    step,
    variables,
    inbound,
  }: { readonly step: Step; readonly variables: Variables; readonly inbound: (text: string) => string },
): Summary {
  const body = answer.text === undefined ? undefined : parsed(inbound(answer.text));
  const contentType = String(answer.headers["content-type"] ?? "").split(";")[0] ?? "";
  const summary: Summary = { status: answer.status, contentType };
  const warning = answer.headers["warning"];
  if (warning) summary.warning = normalise(inbound(String(warning)), variables, "warning");
  if (answer.events !== undefined) summary.events = normalise(answer.events, variables);
  else if (body !== undefined) summary.body = normalise(body, variables);
  for (const pointer of step.claims ?? []) addClaims(summary, { token: valueAt(body, pointer), variables, inbound });
  for (const pointer of step.ignore ?? []) removeAt(summary, pointer);
  if (step.pick)
    summary.body = Object.fromEntries(step.pick.map((pointer) => [pointer, valueAt(summary.body, pointer)]));
  return summary;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface TokenToCompare {
  readonly token: unknown;
  readonly variables: Variables;
  readonly inbound: (text: string) => string;
}

function addClaims(summary: Summary, { token, variables, inbound }: TokenToCompare): void {
  if (typeof token !== "string") return;
  const claims = parsed(inbound(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()));
  if (typeof claims !== "object" || claims === null) return;
  const fields = claims as Record<string, unknown>;
  summary.lifetimeSeconds = Number(fields["exp"]) - Number(fields["iat"]);
  for (const name of ["exp", "iat", "nbf"]) if (name in fields) fields[name] = "<time>";
  const own = fields["platform.io"] as Record<string, unknown> | undefined;
  if (own?.["warnafter"]) own["warnafter"] = "<time>";
  fields["iss"] = "<issuer>";
  summary.claims = normalise(fields, variables);
}
