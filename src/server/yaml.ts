import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, stringify } from "yaml";
import type { Document, ParsedNode, Tags } from "yaml";
import { ApiError, badRequest } from "../api/api-error.ts";

/** YAML is parsed a hundred times slower than JSON, so less of it is taken. JSON inside YAML's name has its own way. */
const maximumYamlBytes = 256 * 1024;
const maximumDepth = 256;
const maximumAliases = 100;
const maximumOpenBrackets = 1024;
/** What aliases may blow a document up to. */
const maximumJsonLength = 3 * 1024 * 1024;

/** Types of YAML 1.1 that upstream's parser (which has its booleans and octal numbers) has not. */
const foreignTags = new Set(["intTime", "floatTime", "timestamp", "binary", "omap", "pairs", "set", "merge"]);
const upstreamTags = (tags: Tags): Tags =>
  tags.filter(
    (tag) =>
      typeof tag === "string" || !(foreignTags.has(tag.tag.replace("tag:yaml.org,2002:", "")) || isSexagesimal(tag)),
  );
const isSexagesimal = (tag: Exclude<Tags[number], string>): boolean => "format" in tag && tag.format === "TIME";

/** A value as YAML in the form of upstream: sorted keys, lists not indented, strings quoted where YAML 1.1 needs it. */
export function toYaml(value: unknown): string {
  return stringify(JSON.parse(JSON.stringify(value)), {
    version: "1.1",
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    singleQuote: false,
    aliasDuplicateObjects: false,
  });
}

/**
 * A YAML document as the JSON text that means the same, in the order of the keys, with repeated keys repeated and every key
 * on its line: what reads JSON then sees the same faults. Bytes, depth and the growth by aliases are bounded. Throws a 400, or a 413 for too much.
 */
export function yamlToJson(text: string): string {
  if (/^\s*[{[]/.test(text) && isJson(text)) return text;
  if (text.length > maximumYamlBytes) {
    throw new ApiError({
      code: 413,
      reason: "RequestEntityTooLarge",
      message: `YAML is limited to ${maximumYamlBytes} bytes`,
    });
  }
  refuseDeepFlow(text);
  try {
    const lineCounter = new LineCounter();
    const document = parseDocument(text, {
      lineCounter,
      version: "1.1",
      customTags: upstreamTags,
      uniqueKeys: false,
      merge: false,
      stringKeys: true,
      prettyErrors: false,
      logLevel: "silent",
    });
    const [fault] = document.errors;
    if (fault) throw badRequest(`error converting YAML to JSON: yaml: ${fault.message}`);
    return new JsonWriter(document, lineCounter).write();
  } catch (error) {
    // The parser recurses: nesting that is too deep for the stack ends here.
    if (error instanceof RangeError) throw badRequest("error converting YAML to JSON: yaml: nested too deeply");
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The parser takes quadratic time for brackets that nest thousands deep: those end before it begins. */
function refuseDeepFlow(text: string): void {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 91 || code === 123) open++;
    else if (code === 93 || code === 125) open--;
    if (open > maximumOpenBrackets) throw badRequest("error converting YAML to JSON: yaml: nested too deeply");
  }
}

class JsonWriter {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  /** The line of the output that is written now, from 1. */
  #line = 1;
  #aliases = 0;
  #length = 0;

  constructor(document: Document.Parsed, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
  }

  write(): string {
    return this.#value(this.#document.contents, 0);
  }

  #value(node: ParsedNode | null | undefined, depth: number): string {
    if (depth > maximumDepth) throw badRequest("error converting YAML to JSON: yaml: nested too deeply");
    if (isMap(node)) {
      const members = node.items.map(({ key, value }) => `${this.#key(key)}:${this.#value(value, depth + 1)}`);
      return `{${members.join(",")}}`;
    }
    if (isSeq(node)) return `[${node.items.map((item) => this.#value(item, depth + 1)).join(",")}]`;
    if (isAlias(node)) {
      if (++this.#aliases > maximumAliases) throw badRequest("error converting YAML to JSON: yaml: too many aliases");
      // An alias to a node that holds it ends at the depth bound.
      return this.#value(node.resolve(this.#document) as ParsedNode | undefined, depth + 1);
    }
    return this.#counted(isScalar(node) ? scalarJson(node.value) : "null");
  }

  #key(node: ParsedNode): string {
    return this.#counted(this.#toLineOf(node) + JSON.stringify(isScalar(node) ? String(node.value) : ""));
  }

  /** Keys stay on their lines, so that who reads the JSON can name those of the YAML. */
  #toLineOf(node: ParsedNode): string {
    const { line } = this.#lines.linePos(node.range[0]);
    const missing = Math.max(0, line - this.#line);
    this.#line += missing;
    return "\n".repeat(missing);
  }

  #counted(json: string): string {
    this.#length += json.length;
    if (this.#length > maximumJsonLength)
      throw badRequest("error converting YAML to JSON: yaml: too large when expanded");
    return json;
  }
}

function scalarJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw badRequest("error converting YAML to JSON: yaml: a number that JSON has not");
  }
  return JSON.stringify(value) ?? "null";
}
