import { splitExemplar } from "./exemplar.ts";

/**
 * Values that are the same in each of several processes, or that grow with a problem. The largest one is shown; all other
 * values are added up.
 */
const largestCounts =
  /^(?:signet_(?:certificate_requests_pending|storage_|namespace_largest_|authority_expiry_|unusable_files|outside_key_last_)|apiserver_externaljwt_fetch_keys_\w+_timestamp|nodejs_(?:eventloop_lag|version_info)|process_(?:start_time|max_fds))/;
/** The smallest one is shown: the earliest expiry, and 0 for a key that one of the processes cannot use. */
const smallestCounts = /^signet_(?:certificate_soonest_expiry_seconds|outside_key_usable)/;

interface Family {
  /** Its HELP and TYPE lines. */
  readonly comments: readonly string[];
  /** Each sample's value, by the text before it: the name and its labels. */
  readonly values: Map<string, number>;
  /** Each sample's exemplar, by the same text, from the last process that has one. */
  readonly exemplars: Map<string, string>;
}

/** Makes one text in Prometheus' format of the texts of the processes of one server. */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, Family>();
  for (const text of texts) addText(families, text);
  return textOf(families.values());
}

/** What a process has counted: the metrics that still hold when it has ended. Without exemplars. */
export function countersOf(text: string): string {
  const families = new Map<string, Family>();
  addText(families, text);
  const counters = [...families.values()].filter(({ comments }) => !comments.some((line) => line.endsWith(" gauge")));
  for (const { exemplars } of counters) exemplars.clear();
  return textOf(counters);
}

function textOf(families: Iterable<Family>): string {
  const lines: string[] = [];
  for (const { comments, values, exemplars } of families) {
    lines.push(...comments);
    for (const [series, value] of values) lines.push(`${series} ${value}${exemplars.get(series) ?? ""}`);
  }
  return `${lines.join("\n")}\n`;
}

function addText(families: Map<string, Family>, text: string): void {
  let family: Family | undefined;
  let comments: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) comments = [line];
    else if (line.startsWith("# TYPE ")) {
      const name = line.split(" ")[2] ?? "";
      family = families.get(name) ?? { comments: [...comments, line], values: new Map(), exemplars: new Map() };
      families.set(name, family);
    } else if (family !== undefined && line !== "") addSample(family, line);
  }
}

/** Label values may have spaces: the value comes after the last one. */
function addSample({ values, exemplars }: Family, line: string): void {
  const [sample, exemplar] = splitExemplar(line);
  const end = sample.lastIndexOf(" ");
  const series = sample.slice(0, end);
  const value = Number(sample.slice(end + 1));
  if (exemplar !== "") exemplars.set(series, exemplar);
  const before = values.get(series);
  if (before === undefined || Number.isNaN(before)) values.set(series, value);
  else if (Number.isNaN(value)) return;
  else if (largestCounts.test(series)) values.set(series, Math.max(before, value));
  else if (smallestCounts.test(series)) values.set(series, Math.min(before, value));
  else values.set(series, before + value);
}
