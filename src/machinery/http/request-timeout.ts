import { badRequest } from "../api/api-error.ts";
import type { HttpRequest } from "../api/http-message.ts";
import { mayHaveParameter } from "../registry/query-values.ts";
import { timeQuoted } from "../schema/go-time.ts";
import type { ParsedRequestInfo } from "./request-info.ts";

/**
 * Refuses a `timeout` that is no duration of Go's, as upstream does before it asks who the caller is. Watches do not have one.
 */
export function refuseMalformedTimeout({ query }: Pick<HttpRequest, "query">, info: ParsedRequestInfo): void {
  if (!mayHaveParameter(query, "timeout") || (info.kind !== "path" && info.verb === "watch")) return;
  const fault = durationFault(new URLSearchParams(query).get("timeout") ?? "");
  if (fault !== undefined) throw badRequest(`invalid timeout specified in the request URL - time: ${fault}`);
}

const units = new Set(["ns", "us", "µs", "μs", "ms", "s", "m", "h"]);

/** What Go's `time.ParseDuration` says is wrong with a text. */
function durationFault(text: string): string | undefined {
  const duration = timeQuoted(text);
  const amounts = text.replace(/^[-+]/, "");
  if (text === "" || amounts === "0") return undefined;
  if (amounts === "") return `invalid duration ${duration}`;
  for (let rest = amounts; rest !== "";) {
    const amount = /^(?:\d+(?:\.\d*)?|\.\d+)/.exec(rest)?.[0];
    if (amount === undefined) return `invalid duration ${duration}`;
    const unit = /^[^.\d]*/.exec(rest.slice(amount.length))?.[0] ?? "";
    if (unit === "") return `missing unit in duration ${duration}`;
    if (!units.has(unit)) return `unknown unit ${timeQuoted(unit)} in duration ${duration}`;
    rest = rest.slice(amount.length + unit.length);
  }
  return undefined;
}
