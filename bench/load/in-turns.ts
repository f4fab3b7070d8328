import { mean, median } from "../report/averages.ts";

export interface Turns<Other, Own> {
  readonly rounds: number;
  readonly other: () => Promise<Other>;
  readonly own: () => Promise<Own>;
}

/** Measures both sides once in each round, and alternates which is first, so that both run under the same conditions. */
export async function inTurns<Other, Own>({
  rounds,
  other,
  own,
}: Turns<Other, Own>): Promise<{ others: Other[]; owns: Own[] }> {
  const [others, owns]: [Other[], Own[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) others.push(await other());
    owns.push(await own());
    if (round % 2 === 1) others.push(await other());
  }
  return { others, owns };
}

export const comparisonHead: readonly string[] = ["CPU µs each", "other", "this", "this / other, median"];

/** A row below `comparisonHead`, from the measurements of each round. */
export function comparisonRow(
  name: string,
  { others, owns }: { readonly others: readonly number[]; readonly owns: readonly number[] },
): string[] {
  const ratios = owns.map((one, round) => one / (others[round] ?? one));
  return [name, mean(others).toFixed(0), mean(owns).toFixed(0), median(ratios).toFixed(2)];
}
