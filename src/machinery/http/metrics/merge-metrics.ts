import { runToEnd } from "../../api/run-to-end.ts";
import { splitExemplar } from "./exemplar.ts";

/** How the values of a series in several processes are combined. */
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

type AggregatorOf = (name: string) => Aggregator;

const sum: AggregatorOf = () => "sum";

/** Merges the metrics of the processes of one server, which are texts in Prometheus' format. Default: all values are added up. */
export const mergeMetrics = (texts: readonly string[], aggregatorOf: AggregatorOf = sum): string =>
  runToEnd(mergeMetricsInSteps(texts, { aggregatorOf, isWanted: undefined }));

interface Merging {
  readonly aggregatorOf: AggregatorOf;
  /** By the name of a metric. Undefined: all are. */
  readonly isWanted: ((name: string) => boolean) | undefined;
}

/** Does the same as `mergeMetrics` for the wanted metrics, and yields after each sample. */
export function* mergeMetricsInSteps(
  texts: readonly string[],
  { aggregatorOf, isWanted = () => true }: Merging,
): Generator<undefined, string> {
  const families = new Map<string, Family>();
  for (const text of texts) yield* addText(families, { text, aggregatorOf });
  return yield* textOf([...families].filter(([name]) => isWanted(name)).map(([, family]) => family));
}

/** The counters of a process, which stay valid after its end. Without exemplars. */
export function countersOf(text: string): string {
  const families = new Map<string, Family>();
  runToEnd(addText(families, { text, aggregatorOf: sum }));
  const counters = [...families.values()].filter(({ comments }) => !comments.some((line) => line.endsWith(" gauge")));
  for (const { exemplars } of counters) exemplars.clear();
  return runToEnd(textOf(counters));
}

function* textOf(families: Iterable<Family>): Generator<undefined, string> {
  let text = "";
  for (const { comments, values, exemplars } of families) {
    for (const comment of comments) text += `${comment}\n`;
    for (const [series, value] of values) {
      text += `${series} ${value}${exemplars.get(series) ?? ""}\n`;
      yield;
    }
  }
  return text;
}

interface AddedText {
  readonly text: string;
  readonly aggregatorOf: AggregatorOf;
}

function* addText(families: Map<string, Family>, { text, aggregatorOf }: AddedText): Generator<undefined, void> {
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
    yield;
  }
}

/** Label values may have spaces, so the value of the sample begins after the last space. */
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
