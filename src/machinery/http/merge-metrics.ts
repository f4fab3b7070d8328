import { splitExemplar } from "./exemplar.ts";

/** How the values of one series in several processes become one. */
export type Aggregator = "sum" | "max" | "min";

interface Family {
  readonly aggregator: Aggregator;
  /** Its HELP and TYPE lines. */
  readonly comments: readonly string[];
  /** Each sample's value, by the text before it: the name and its labels. */
  readonly values: Map<string, number>;
  /** Each sample's exemplar, by the same text, from the last process that has one. */
  readonly exemplars: Map<string, string>;
}

/** Makes one text in Prometheus' format of the texts of the processes of one server. Default: all values are added up. */
export function mergeMetrics(
  texts: readonly string[],
  aggregatorOf: (name: string) => Aggregator = () => "sum",
): string {
  const families = new Map<string, Family>();
  for (const text of texts) addText(families, { text, aggregatorOf });
  return textOf(families.values());
}

/** What a process has counted: the metrics that still hold when it has ended. Without exemplars. */
export function countersOf(text: string): string {
  const families = new Map<string, Family>();
  addText(families, { text, aggregatorOf: () => "sum" });
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

interface AddedText {
  readonly text: string;
  readonly aggregatorOf: (name: string) => Aggregator;
}

function addText(families: Map<string, Family>, { text, aggregatorOf }: AddedText): void {
  let family: Family | undefined;
  let comments: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) comments = [line];
    else if (line.startsWith("# TYPE ")) {
      const name = line.split(" ")[2] ?? "";
      family = families.get(name) ?? {
        aggregator: aggregatorOf(name),
        comments: [...comments, line],
        values: new Map(),
        exemplars: new Map(),
      };
      families.set(name, family);
    } else if (family !== undefined && line !== "") addSample(family, line);
  }
}

/** Label values may have spaces: the value comes after the last one. */
function addSample({ aggregator, values, exemplars }: Family, line: string): void {
  const [sample, exemplar] = splitExemplar(line);
  const end = sample.lastIndexOf(" ");
  const series = sample.slice(0, end);
  const value = Number(sample.slice(end + 1));
  if (exemplar !== "") exemplars.set(series, exemplar);
  const before = values.get(series);
  if (before === undefined || Number.isNaN(before)) values.set(series, value);
  else if (Number.isNaN(value)) return;
  else values.set(series, aggregated[aggregator](before, value));
}

const aggregated: Readonly<Record<Aggregator, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
};
