/** One request of a histogram's bucket, with the trace under which it can be looked up. */
export interface Exemplar {
  readonly traceId: string;
  readonly seconds: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Formats an exemplar as OpenMetrics writes it behind a sample. */
export const exemplarText = ({ traceId, seconds, at }: Exemplar): string =>
  ` # {trace_id="${traceId}"} ${seconds} ${at / 1000}`;

const pattern = / # \{trace_id="[0-9a-f]{32}"\} \S+ \S+$/m;
const all = new RegExp(pattern, "gm");

/** A sample, and its exemplar or "". */
export function splitExemplar(line: string): readonly [sample: string, exemplar: string] {
  const at = line.includes(" # {") ? line.search(pattern) : -1;
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at)];
}

/** Removes the exemplars, which Prometheus' own format does not have. */
export const withoutExemplars = (text: string): string => (text.includes(" # {") ? text.replaceAll(all, "") : text);
