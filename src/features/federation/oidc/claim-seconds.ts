/** A time as go-oidc reads it: whole seconds, as a number or as a text that is one. NaN for anything else. */
export function claimSeconds(value: unknown): number {
  const isNumber = typeof value === "number" || (typeof value === "string" && jsonNumber.test(value));
  // A number such as 1e400 is parsed as Infinity.
  return isNumber && Number.isFinite(Number(value)) ? Math.trunc(Number(value)) : NaN;
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
