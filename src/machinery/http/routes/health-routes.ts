import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { rateLimitedReport } from "../../logging/rate-limited-report.ts";
import type { PathRoute, PathRoutes } from "./path-routes.ts";
import { plainText } from "../plain-text.ts";
import { parametersOf } from "../../registry/query-values.ts";

type HealthEndpoint = "healthz" | "livez" | "readyz";

export interface HealthCheck {
  readonly name: string;
  /** Absent: all endpoints. */
  readonly endpoints?: readonly HealthEndpoint[];
  /** Throws or rejects when something is wrong. The reason is logged but not included in the answer. */
  check(): MaybePromise<void>;
}

export interface HealthOptions {
  /** Run in this order, after `ping`. */
  readonly checks: readonly HealthCheck[];
  /**
   * Called with the newest error of a check, and how often it has failed since the last call: at once, then once a minute. Anyone may
   * ask for checks, a thousand times a second.
   */
  readonly onFailure: (failure: HealthCheckFailure) => void;
  /** Called with each result that is part of the answer of `/healthz`, `/livez` or `/readyz`. */
  readonly onResult: (result: HealthCheckResult) => void;
}

export interface HealthCheckResult {
  readonly check: string;
  readonly endpoint: HealthEndpoint;
  readonly hasPassed: boolean;
}

interface HealthCheckFailure {
  readonly check: string;
  readonly error: unknown;
  readonly failures: number;
}

const endpoints: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];
const ping: HealthCheck = { name: "ping", check: () => undefined };

/** `/healthz`, `/livez`, `/readyz` and a path for each check (upstream: `healthz.InstallPathHandler`). */
export function healthRoutes({ checks, onFailure, onResult }: HealthOptions): PathRoutes {
  const routes = new Map<string, PathRoute>();
  const reports = new Map(
    checks.map(({ name }) => [
      name,
      rateLimitedReport<unknown>((error, failures) => onFailure({ check: name, error, failures })),
    ]),
  );
  for (const endpoint of endpoints) {
    const own = [ping, ...checks].filter((check) => check.endpoints?.includes(endpoint) ?? true);
    const run = (check: HealthCheck): Promise<boolean> => passes(check, (error) => reports.get(check.name)?.(error));
    const runOfSummary = async (check: HealthCheck): Promise<boolean> => {
      const hasPassed = await run(check);
      onResult({ check: check.name, endpoint, hasPassed });
      return hasPassed;
    };
    routes.set(`/${endpoint}`, {
      methods: "any",
      handle: (request) => summary(request, { endpoint, checks: own, run: runOfSummary }),
    });
    for (const check of own) {
      const handle = async (): Promise<HttpResponse> =>
        (await run(check)) ? plainText(200, "ok") : plainText(500, "internal server error: reason withheld\n");
      routes.set(`/${endpoint}/${check.name}`, { methods: "any", handle });
    }
  }
  return routes;
}

interface SummaryOptions {
  readonly endpoint: HealthEndpoint;
  readonly checks: readonly HealthCheck[];
  run(check: HealthCheck): Promise<boolean>;
}

async function summary(request: HttpRequest, { endpoint, checks, run }: SummaryOptions): Promise<HttpResponse> {
  const query = parametersOf(request.query);
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let hasFailed = false;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
    } else if (await run(check)) {
      lines.push(`[+]${check.name} ok`);
    } else {
      hasFailed = true;
      lines.push(`[-]${check.name} failed: reason withheld`);
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => JSON.stringify(name)).join(", ");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (hasFailed) return plainText(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
  return plainText(200, query.has("verbose") ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok");
}

async function passes(check: HealthCheck, onFailure: (error: unknown) => void): Promise<boolean> {
  try {
    await check.check();
    return true;
  } catch (error) {
    onFailure(error);
    return false;
  }
}
