/** A double in Go's shortest form: `1.5`, `1e+06`. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "", exponent = ""] = value.toExponential().split("e");
  // JavaScript writes these without an exponent, as Go does.
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(value);
  return `${digits}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
}
