/** What a look at one thing has found. `advice` says what to do, and is there unless all is well. */
export interface Finding {
  readonly state: "good" | "warning" | "bad";
  /** What was looked at, in a word or two. */
  readonly subject: string;
  /** One line. Never a secret. */
  readonly found: string;
  readonly advice?: string;
}

export const good = (subject: string, found: string): Finding => ({ state: "good", subject, found });
export const warning = (subject: string, { found, advice }: Advised): Finding => ({
  state: "warning",
  subject,
  found,
  advice,
});
export const bad = (subject: string, { found, advice }: Advised): Finding => ({ state: "bad", subject, found, advice });

type Advised = Readonly<Record<"found" | "advice", string>>;
