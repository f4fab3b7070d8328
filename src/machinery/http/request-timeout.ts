import { badRequest } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { mayHaveParameter, parametersOf } from "../registry/query-values.ts";
import { timeQuoted } from "../schema/go-time.ts";
import type { ParsedRequestInfo } from "./request-info.ts";

/**
 * Refuses a `timeout` that is no duration of Go's, as upstream does before it asks who the caller is. Watches do not have one.
 */
export function refuseMalformedTimeout({ query }: Pick<HttpRequest, "query">, info: ParsedRequestInfo): void {
  if (!mayHaveParameter(query, "timeout") || (info.kind !== "path" && info.verb === "watch")) return;
  const fault = durationFault(parametersOf(query).get("timeout") ?? "");
  if (fault !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${fault}`);
}

/** What is right at the beginning: each amount with its unit. */
const wholeAmounts = /^[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[nuµμm]s|[smh])(?![^.\d]))*/;

/** What Go's `time.ParseDuration` says is wrong with a text. */
function durationFault(text: string): string | undefined {
  if (text === "" || /^[-+]?0$/.test(text)) return undefined;
  const whole = wholeAmounts.exec(text)?.[0] ?? "";
  const hasAmount = /[smh]$/.test(whole);
  if (whole === text && hasAmount) return undefined;
  const [, amount, unit = ""] = /^(\d+(?:\.\d*)?|\.\d+)([^.\d]*)/.exec(text.slice(whole.length)) ?? [];
  const duration = timeQuoted(text);
  if (amount === undefined) return `invalid duration ${duration}`;
  return unit === ""
    ? `missing unit in duration ${duration}`
    : `unknown unit ${timeQuoted(unit)} in duration ${duration}`;
}
