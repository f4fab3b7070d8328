import type { Log } from "../logging/log.ts";

interface SendTracesOptions {
  readonly log: Pick<Log, "info" | "warn" | "error">;
  /** Sent as `service.version`, and as `service.name` unless the environment sets another name. */
  readonly service: { readonly name: string; readonly version: string };
}

/**
 * Sends this process's traces to the collector that OpenTelemetry's environment variables name. If they name no collector, no code for the
 * export is loaded. Throws UsageError for variables that cannot be used.
 */
export async function sendTraces({ log, service }: SendTracesOptions): Promise<void> {
  const { env } = process;
  const isNamed = env["OTEL_EXPORTER_OTLP_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  if (!isNamed) return;
  const { traceExportSettings } = await import("./trace-export-settings.ts");
  const settings = traceExportSettings(env, service);
  if (settings === undefined) return;
  const { exportTraces } = await import("./export-traces.ts");
  const end = exportTraces(settings, log);
  process.once("beforeExit", () => void end());
}
