import { badRequest } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { mayHaveParameter, parametersOf } from "../registry/query-values.ts";
import { timeQuoted } from "../schema/go-time.ts";
import type { ParsedRequestInfo } from "./request-info.ts";

/**
 * Refuses a `timeout` that Go cannot parse as a duration, as upstream does before it authenticates the caller. The `timeout` of a watch is
 * ignored. Throws a 400.
 */
export function refuseMalformedTimeout({ query }: Pick<HttpRequest, "query">, info: ParsedRequestInfo): void {
  if (!mayHaveParameter(query, "timeout") || (info.kind !== "path" && info.verb === "watch")) return;
  const fault = durationFault(parametersOf(query).get("timeout") ?? "");
  if (fault !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${fault}`);
}

/** The longest valid beginning of a duration: amounts, each with its unit. */
const wholeAmounts = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[nuµμm]s|[smh])(?![^.\d]))*/;

const nanosecondsOfUnit: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
};
const longestNanoseconds = 2 ** 63;

/** The sum of amounts with their units, such as `1m30s`. */
function nanosecondsOf(amounts: string): number {
  let sum = 0;
  for (const [, amount, unit = ""] of amounts.matchAll(/([.\d]+)([^.\d]+)/g)) {
    sum += Number(amount) * (nanosecondsOfUnit[unit] ?? 0);
  }
  return sum;
}

/** What Go's `time.ParseDuration` says is wrong with a text. */
function durationFault(text: string): string | undefined {
  if (text === "" || /^[-+]?0$/.test(text)) return undefined;
  const whole = wholeAmounts.exec(text)?.[0] ?? "";
  const hasAmount = /[smh]$/.test(whole);
  if (whole === text && hasAmount && nanosecondsOf(whole) <= longestNanoseconds) return undefined;
  const [, amount, unit = ""] = /^(\d+(?:\.\d*)?|\.\d+)([^.\d]*)/.exec(text.slice(whole.length)) ?? [];
  const duration = timeQuoted(text);
  if (amount === undefined) return `invalid duration ${duration}`;
  return unit === ""
    ? `missing unit in duration ${duration}`
    : `unknown unit ${timeQuoted(unit)} in duration ${duration}`;
}
