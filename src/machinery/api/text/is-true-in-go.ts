const truths: ReadonlySet<string | undefined> = new Set(["1", "t", "T", "true", "TRUE", "True"]);

/** Whether Go's `strconv.ParseBool` reads a text as true. */
export const isTrueInGo = (text: string | undefined): boolean => truths.has(text);
