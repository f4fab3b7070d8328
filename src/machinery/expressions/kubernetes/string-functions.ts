import type { Environment } from "@marcbachmann/cel-js";
import { spendSteps } from "../cost-budget.ts";
import { findAll } from "../linear-pattern.ts";
import { formatText } from "./format-text.ts";

class Strings {
  readonly name = "strings";
}

/** CEL's extension for strings as far as the library lacks it, and Kubernetes' functions for regular expressions. */
export function addStringFunctions(environment: Environment): void {
  const add = (signature: string, handler: (...given: never[]) => unknown): unknown =>
    environment.registerFunction(signature, handler, { async: false });
  add("string.charAt(int): string", (text: string, index: bigint) => {
    const characters = Array.from(text);
    if (index < 0n || index > BigInt(characters.length)) throw new Error(`index out of range: ${index}`);
    return characters[Number(index)] ?? "";
  });
  add("string.replace(string, string): string", (text: string, old: string, by: string) =>
    replaced(text, old, by, -1n),
  );
  add("string.replace(string, string, int): string", replaced);
  add("string.find(string): string", (text: string, pattern: string) => findAll(text, pattern, 1)[0] ?? "");
  add("string.findAll(string): list<string>", (text: string, pattern: string) => findAll(text, pattern, -1));
  add("string.findAll(string, int): list<string>", (text: string, pattern: string, limit: bigint) =>
    findAll(text, pattern, Number(limit)),
  );
  add("string.format(list<dyn>): string", (text: string, values: readonly unknown[]) => formatText(text, values));
  environment
    .registerType("kubernetes.Strings", Strings)
    .registerConstant("strings", "kubernetes.Strings", new Strings());
  add("kubernetes.Strings.quote(string): string", (_strings: Strings, text: string) => JSON.stringify(text));
}

function replaced(text: string, old: string, by: string, limit: bigint): string {
  if (limit === 0n) return text;
  const most = old === "" ? text.length + 1 : Math.floor(text.length / old.length);
  const times = limit < 0n ? most : Math.min(most, Number(limit));
  spendSteps((text.length + times * by.length) / 10);
  if (limit < 0n) return text.replaceAll(old, () => by);
  let result = "";
  let at = 0;
  for (let count = 0; count < times; count += 1) {
    const found = text.indexOf(old, at === 0 && old === "" ? 0 : at + (old === "" ? 1 : 0));
    if (found < 0) break;
    result += text.slice(at, found) + by;
    at = found + old.length;
  }
  return result + text.slice(at);
}
