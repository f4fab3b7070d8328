import { parseAccept } from "../accept-header.ts";

export const openMetricsContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Whether a client prefers OpenMetrics to Prometheus' own text format. Prometheus does, as soon as it stores exemplars. */
export function prefersOpenMetrics(accept: string): boolean {
  const preferred = parseAccept(accept).find(
    ({ type, subtype, quality }) =>
      quality > 0 && ["application/openmetrics-text", "text/plain", "text/*", "*/*"].includes(`${type}/${subtype}`),
  );
  return preferred?.subtype === "openmetrics-text";
}

/**
 * Converts metrics with exemplars from Prometheus' text format to the format of OpenMetrics 1.0. Samples keep their names. A counter whose
 * name lacks `_total`, which OpenMetrics demands, gets the type `unknown`.
 */
export function openMetricsText(text: string): string {
  const lines: string[] = [];
  let help: string | undefined;
  for (const line of text.split("\n")) {
    const [hash, keyword, name = "", ...rest] = line.split(" ");
    if (line === "") continue;
    if (hash !== "#") lines.push(line);
    else if (keyword === "HELP") help = rest.join(" ").replaceAll('"', '\\"');
    else if (keyword === "TYPE") {
      const { family, type } = familyOf(name, rest.join(" "));
      if (help !== undefined) lines.push(`# HELP ${family} ${help}`);
      lines.push(`# TYPE ${family} ${type}`);
      help = undefined;
    }
  }
  return `${lines.join("\n")}\n# EOF\n`;
}

function familyOf(name: string, type: string): { readonly family: string; readonly type: string } {
  if (type !== "counter") return { family: name, type: type === "untyped" ? "unknown" : type };
  return name.endsWith("_total")
    ? { family: name.slice(0, -"_total".length), type }
    : { family: name, type: "unknown" };
}
