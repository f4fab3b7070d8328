/** The result of one examination. `advice` says what to do; it is absent only when all is well. */
export interface Finding {
  readonly state: "good" | "warning" | "bad";
  /** What was examined, in a word or two. */
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
