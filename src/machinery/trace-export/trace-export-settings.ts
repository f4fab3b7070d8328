import { percentDecoded } from "../api/text/percent-decoded.ts";
import { UsageError } from "../command-line/settings/flag.ts";

/** The settings from OpenTelemetry's standard environment variables. */
export interface TraceExportSettings {
  /** The complete URL to which spans are posted. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** PEM file of the CAs of the collector. */
  readonly certificateFile: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly resource: Readonly<Record<string, string>>;
  /** The version of the program. */
  readonly version: string;
  readonly sampler: Sampler;
  readonly maximumSpans: number;
  readonly batchSpans: number;
  readonly waitMilliseconds: number;
}

export interface Sampler {
  /** The share of new traces that is exported, from 0 to 1. */
  readonly ratio: number;
  /** Whether the decision of the caller counts, if its request contains one. */
  readonly followsParent: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. Undefined when no collector is named, or tracing is switched off. `service` is this program, unless the environment
 * sets another name. Throws UsageError for a value that cannot be used.
 */
export function traceExportSettings(
  environment: Environment,
  service: { readonly name: string; readonly version: string },
): TraceExportSettings | undefined {
  const of = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const numberOf = (name: string, otherwise: number): number => {
    const text = of(name) ?? String(otherwise);
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value > 0) return value;
    throw new UsageError(`${name}: ${JSON.stringify(text)} is not a positive whole number`);
  };
  if (of("OTEL_SDK_DISABLED")?.toLowerCase() === "true" || of("OTEL_TRACES_EXPORTER") === "none") return undefined;
  const url = urlOf(of("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), of("OTEL_EXPORTER_OTLP_ENDPOINT"));
  if (url === undefined) return undefined;
  const protocol = of("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") ?? of("OTEL_EXPORTER_OTLP_PROTOCOL") ?? "http/json";
  if (protocol !== "http/json") {
    throw new UsageError(
      `OTEL_EXPORTER_OTLP_PROTOCOL: ${JSON.stringify(protocol)} is not http/json, which is all that Signet sends`,
    );
  }
  const serviceName = of("OTEL_SERVICE_NAME");
  return {
    url,
    headers: pairsOf(of("OTEL_EXPORTER_OTLP_TRACES_HEADERS") ?? of("OTEL_EXPORTER_OTLP_HEADERS")),
    certificateFile: of("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE") ?? of("OTEL_EXPORTER_OTLP_CERTIFICATE"),
    timeoutMilliseconds: numberOf("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000),
    resource: {
      "service.name": service.name,
      ...pairsOf(of("OTEL_RESOURCE_ATTRIBUTES")),
      ...(serviceName !== undefined && { "service.name": serviceName }),
    },
    version: service.version,
    sampler: samplerOf(of("OTEL_TRACES_SAMPLER") ?? "parentbased_always_on", of("OTEL_TRACES_SAMPLER_ARG")),
    maximumSpans: numberOf("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
    batchSpans: numberOf("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
    waitMilliseconds: numberOf("OTEL_BSP_SCHEDULE_DELAY", 5000),
  };
}

/** The URL for traces, which is used unchanged, or else the general URL with /v1/traces appended. */
function urlOf(traces: string | undefined, base: string | undefined): URL | undefined {
  const [name, text] =
    traces === undefined
      ? ["OTEL_EXPORTER_OTLP_ENDPOINT", base && `${base.replace(/\/$/, "")}/v1/traces`]
      : ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces];
  if (text === undefined || text === "") return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new UsageError(`${name}: it is not a URL that begins with http:// or https://`);
}

/** Parses `key=value,key=value`, percent-encoded. Other texts between the commas are ignored, as the specification says. */
function pairsOf(text = ""): Record<string, string> {
  const pairs = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair));
  return Object.fromEntries(
    pairs.flatMap((pair) => (pair === null ? [] : [[pair[1] ?? "", percentDecoded(pair[2] ?? "")]])),
  );
}

function samplerOf(name: string, argument: string | undefined): Sampler {
  const followsParent = name.startsWith("parentbased_");
  const root = name.replace(/^parentbased_/, "");
  if (root === "always_on") return { ratio: 1, followsParent };
  if (root === "always_off") return { ratio: 0, followsParent };
  const ratio = Number(argument ?? "1");
  if (root === "traceidratio" && ratio >= 0 && ratio <= 1) return { ratio, followsParent };
  if (root === "traceidratio") throw new UsageError("OTEL_TRACES_SAMPLER_ARG: it is not a number from 0 to 1");
  throw new UsageError(
    `OTEL_TRACES_SAMPLER: ${JSON.stringify(name)} is not always_on, always_off, traceidratio, or one of these after parentbased_`,
  );
}
