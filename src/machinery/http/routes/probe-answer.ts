import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import { pageNotFound, plainText, typedText } from "../plain-text.ts";

export interface ProbedProgram {
  /** Why the program is not ready: one line each. */
  readonly faults: () => readonly string[];
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

const livenessPaths = new Set(["/livez", "/healthz"]);

/**
 * Answers `/livez`, `/healthz` (as `/livez`), `/readyz` and `/metrics` of a program that serves nothing else. Its faults say nothing about
 * liveness: a restart repairs none of them.
 */
export async function probeAnswer(
  { method, path }: Pick<HttpRequest, "method" | "path">,
  { faults, metrics }: ProbedProgram,
): Promise<HttpResponse> {
  const isLiveness = livenessPaths.has(path);
  if (!isLiveness && path !== "/readyz" && path !== "/metrics") return pageNotFound();
  if (method !== "GET" && method !== "HEAD") return plainText(405, "405 method not allowed\n");
  if (path === "/metrics") return typedText(await metrics.text(), metrics.contentType);
  const found = isLiveness ? [] : faults();
  return found.length === 0 ? plainText(200, "ok") : plainText(503, found.map((fault) => `${fault}\n`).join(""));
}
