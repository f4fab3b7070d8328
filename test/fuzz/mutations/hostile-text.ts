import type { SeededRandom } from "../../reliability/seeded-random.ts";

const texts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "a\nb",
  "\r\n",
  "\u007f",
  "\ud800",
  "\udc00\ud800",
  "a\ud83d",
  "\u{1f600}",
  "\u202e",
  "\ufeff",
  "é",
  "e\u0301",
  "ſ",
  "K",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "..",
  "../../etc",
  "a/b",
  "/",
  "%2f",
  "%00",
  "%",
  "*",
  "system:masters",
  "system:node:",
  "system:serviceaccount:fuzz-a:robot",
  "{}",
  "[]",
  "null",
  "true",
  "0",
  "-1",
  "1e999",
  "9223372036854775808",
  "NaN",
  "0001-01-01T00:00:00Z",
  "9999-12-31T23:59:60Z",
  "2026-13-45T99:99:99+99:99",
  "1Ei",
  "1e-400",
  "$(x)",
  "<script>",
  "((((((((((a+)+)+)+)+)+)+)+)+)+$",
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
  "a".repeat(63),
  "a".repeat(64),
  "a".repeat(253),
  "a".repeat(254),
  "a.".repeat(200),
  "-".repeat(300),
  "x".repeat(2_100),
] as const;

/** Lengths are seldom large, because a run has to be fast, and one long text in some hundreds is enough. */
export function hostileText(random: SeededRandom): string {
  const text = random.pick([...texts]);
  const turn = random.next();
  if (turn < 0.003) return text.repeat(Math.ceil(300_000 / Math.max(1, text.length)));
  if (turn < 0.02) return text.repeat(40);
  if (turn < 0.3) return text + random.pick([...texts]);
  return text;
}
