import type { ASTNode } from "@marcbachmann/cel-js";
import { reservedWords } from "./reserved-words.ts";

const signs: ReadonlyMap<string, string> = new Map([
  ["underscores", "__"],
  ["dot", "."],
  ["dash", "-"],
  ["slash", "/"],
]);

/**
 * Unescapes the names of the fields that an expression selects: CEL cannot write `claims.kubernetes.io`, so upstream reads
 * `claims.kubernetes__dot__io` as it (upstream: `Unescape` of `k8s.io/apiserver/pkg/cel`). Names in brackets stay as they are.
 */
export function unescapeFields(nodes: Iterable<ASTNode>): void {
  for (const node of nodes) if (node.op === "." || node.op === ".?") node.args[1] = unescaped(node.args[1]);
}

/** A name with an unknown escape stays as it is. */
function unescaped(field: string): string {
  let isValid = true;
  const name = field.replaceAll(/__([^_]+)__/g, (escape: string, word: string) => {
    const sign = signs.get(word);
    if (sign !== undefined) return sign;
    isValid &&= reservedWords.has(word) && escape === field;
    return word;
  });
  return isValid ? name : field;
}
