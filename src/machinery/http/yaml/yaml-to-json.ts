import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from "yaml";
import type { Alias, Document, ParsedNode, Scalar, YAMLMap } from "yaml";
import { runToEnd } from "../../api/run-to-end.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { inTurns } from "../../scheduling/request-turn.ts";
import { isTooDeep, maximumValues, tooManyValues } from "../../schema/value-limit.ts";
import { tooLarge } from "../../api/api-error.ts";
import { isOverflow, upstreamTags } from "./yaml-tags.ts";

/**
 * Parsing YAML takes a hundred times as long as JSON, so the limit is lower. JSON that is sent as YAML is parsed as
 * JSON.
 */
const maximumYamlBytes = 256 * 1024;
const maximumDepth = 256;
const maximumAliases = 100;
const maximumOpenBrackets = 1024;
/**
 * The maximum number of lines, brackets, commas and similar: each takes the parser five microseconds or more, regardless
 * of the bytes between. An anchor, alias or tag takes half of that, a quote or an escape a quarter, a directive three times
 * as much.
 */
const maximumStructure = 10_000;
const shareOfMark = new Map<string, number>([
  ["%", 3],
  ...Array.from("&*!", (mark) => [mark, 0.5] as const),
  ...Array.from(`"'\\`, (mark) => [mark, 0.25] as const),
]);
/** The maximum size of a document after its aliases are expanded. */
const maximumJsonLength = 3 * 1024 * 1024;
/** How much a merged member adds to that size besides its text: the work of copying it. */
const mergedMemberLength = 128;

/**
 * Converts a YAML document to JSON text with the same meaning. Keys keep their order, their repetitions and their line
 * numbers, so that the JSON reader reports the same faults. Keys that are not strings, and `<<`, are handled like in
 * sigs.k8s.io/yaml. Limits bytes, depth and the expansion of aliases. Throws a YamlFault, or a 413 for too much.
 */
export const yamlToJson = (text: string): string => jsonInYaml(text) ?? runToEnd(convert(withLineFeeds(text)));

/** The same for the text of a request that is not JSON (`jsonInYaml`). A long text is converted in turns, between which other requests run. */
export const yamlToJsonInTurns = (text: string): MaybePromise<string> => inTurns(convert(withLineFeeds(text)));

/** Replaces the line breaks of YAML 1.1 that the library does not read as line breaks. */
const withLineFeeds = (text: string): string => text.replace(/\r\n?|\u0085/g, "\n");

/** Yields after each small step. */
function* convert(text: string): Generator<undefined, string> {
  if (text.length > maximumYamlBytes) {
    throw tooLarge(`YAML is limited to ${maximumYamlBytes} bytes`);
  }
  refuseMuchStructure(text);
  if (/[^\t\n\r -~\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) {
    throw yamlFault("control characters are not allowed");
  }
  try {
    const lineCounter = new LineCounter();
    const document = yield* parseDocument(text, lineCounter);
    const end = endOf(document, text);
    const fault = document.errors.find(
      // The fault of an unclosed collection is at the collection's end, where the fault of later text may be too.
      ({ code, pos: [start] }) => start < end || (start === end && code !== codeOfTextAfterDocument),
    );
    // The library's message would be about its call stack.
    if (fault?.code === "RESOURCE_EXHAUSTION") throw yamlFault("nested too deeply");
    if (fault) throw yamlFault(`line ${lineCounter.linePos(fault.pos[0]).line}: ${fault.message}`);
    yield;
    return new JsonWriter(document, { lines: lineCounter, openEnd: openEndOf(text) }).write();
  } catch (error) {
    // The parser is recursive: nesting that is too deep for the stack ends here.
    if (error instanceof RangeError) throw yamlFault("nested too deeply");
    throw error;
  }
}

/** The first document of a text. Others are not read. */
function* parseDocument(text: string, lineCounter: LineCounter): Generator<undefined, Document.Parsed> {
  lineCounter.addNewLine(0);
  const parser = new Parser(lineCounter.addNewLine);
  const composer = new Composer({ version: "1.1", customTags: upstreamTags, uniqueKeys: false, merge: false });
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) for (const document of composer.next(token)) return document;
    yield;
  }
  for (const token of parser.end()) for (const document of composer.next(token)) return document;
  for (const document of composer.end(true, text.length)) return document;
  throw new Error("the composer gives a document at the end"); // `true` asks for one
}

/** The library's fault of text that it reads after a document. */
const codeOfTextAfterDocument = "UNEXPECTED_TOKEN";

/** The index at which a document ends. Upstream reads no further: any text may follow a flow collection, `...` or `---`. */
function endOf({ contents }: Document.Parsed, text: string): number {
  if ((isMap(contents) || isSeq(contents)) && contents.flow === true) return contents.range[1];
  const marker = /^(?:\.\.\.|---)(?=\s|$)/gm;
  marker.lastIndex = contents?.range[1] ?? 0;
  return marker.exec(text)?.index ?? Infinity;
}

/** The end of a text whose last line has no line feed. Undefined: only blanks follow the last line feed. */
const openEndOf = (text: string): number | undefined =>
  text.slice(text.lastIndexOf("\n") + 1).trim() === "" ? undefined : text.length;

/** Characters that JSON strings may contain, but that YAML does not allow or reads as a line break. */
const unlikeYaml = /[\u007f-\u009f\ufffe\uffff]/;

/** A number with a fraction or an exponent, or text in a string that looks so. */
const maybeFraction = /[:[,]\s*-?\d+[.eE]/;
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** A string or a number of JSON as YAML reads it: `15.0` is the whole number 15, and a number that is too large is a text. */
function readAsYaml(token: string): string {
  if (token.startsWith('"') || !/[.eE]/.test(token)) return token;
  const value = Number(token);
  return JSON.stringify(Number.isFinite(value) ? value : token);
}

/**
 * The JSON of a text that is JSON and means the same in YAML, but is read much faster. Undefined: the text is something else. Throws a
 * YamlFault when it is nested too deeply for both, and a 413 for too many values.
 */
export function jsonInYaml(text: string): string | undefined {
  if (!/^\s*[{[]/.test(text) || unlikeYaml.test(text)) return undefined;
  // Before JSON.parse, which has no limit for the depth.
  if (isTooDeep(text)) throw yamlFault("nested too deeply");
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return maybeFraction.test(text) ? text.replace(stringOrNumber, readAsYaml) : text;
}

/**
 * Refuses too much structure before parsing: thousands of nested brackets take the parser quadratic time, and many
 * brackets take long.
 */
function refuseMuchStructure(text: string): void {
  let open = 0;
  let structure = 0;
  for (const [mark] of text.matchAll(/[[\]{},\n\r&*!"'\\]|[-?:]\s|^%/gm)) {
    if (mark === "[" || mark === "{") open += 1;
    else if (mark === "]" || mark === "}") open -= 1;
    if (open > maximumOpenBrackets) throw yamlFault("nested too deeply");
    structure += shareOfMark.get(mark) ?? 1;
    if (structure > maximumStructure) {
      throw tooLarge(`YAML may have at most ${maximumStructure} lines and items: send it as JSON`);
    }
  }
}

interface Member {
  readonly key: ParsedNode;
  readonly name: string;
  readonly value: ParsedNode | null;
}

class JsonWriter {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #openEnd: number | undefined;
  #targets: ReadonlyMap<Alias, ParsedNode> | undefined;
  /** The line of the output that is being written. Starts at 1. */
  #line = 1;
  #aliases = 0;
  #values = 0;
  #length = 0;

  constructor(
    document: Document.Parsed,
    { lines, openEnd }: { readonly lines: LineCounter; readonly openEnd: number | undefined },
  ) {
    this.#document = document;
    this.#lines = lines;
    this.#openEnd = openEnd;
  }

  write(): string {
    return this.#value(this.#document.contents, 0);
  }

  #value(node: ParsedNode | null | undefined, depth: number): string {
    if (depth > maximumDepth) throw yamlFault("nested too deeply");
    // The depth limit also stops an alias to a node that contains the alias.
    if (isAlias(node)) return this.#value(this.#target(node), depth + 1);
    if (depth > 0 && ++this.#values > maximumValues) throw tooManyValues();
    if (isMap(node)) return `{${this.#members(node, depth)}}`;
    if (isSeq(node)) return `[${node.items.map((item) => this.#value(item, depth + 1)).join(",")}]`;
    return this.#counted(isScalar(node) ? this.#scalar(node) : "null");
  }

  /**
   * The JSON of a scalar. The library ends each block scalar (`|`, `>`) with a line feed, which is removed if the text does not end with
   * one. The value of a `!!binary` scalar differs from its source, and is kept.
   */
  #scalar(node: Scalar.Parsed): string {
    const { value, source, type, range } = node;
    const isOpen = range[1] === this.#openEnd && (type === "BLOCK_LITERAL" || type === "BLOCK_FOLDED");
    return isOpen && value === source ? JSON.stringify(source.replace(/\n$/, "")) : scalarJson(node);
  }

  /** For a repeated key, keep only the last value: JSON readers would merge objects. */
  #members(map: YAMLMap.Parsed, depth: number): string {
    const members = this.#membersOf(map, depth);
    const last = new Map(members.map(({ name }, index) => [name, index]));
    return members
      .map(({ key, name, value }, index) => {
        const written = this.#counted(this.#toLineOf(value ?? key) + JSON.stringify(name));
        return `${written}:${this.#value(last.get(name) === index ? value : null, depth + 1)}`;
      })
      .join(",");
  }

  /**
   * The members of a map. `<<` is replaced by the members that it merges in; later members override them (as go-yaml).
   */
  #membersOf(map: YAMLMap.Parsed, depth: number): Member[] {
    if (depth > maximumDepth) throw yamlFault("nested too deeply");
    const members: Member[] = [];
    for (const { key, value } of map.items) {
      if (isMergeKey(key)) for (const merged of this.#mergedMembers(value, depth)) members.push(merged);
      else members.push({ key, name: keyName(isAlias(key) ? this.#target(key) : key), value });
    }
    return members;
  }

  #mergedMembers(value: ParsedNode | null, depth: number): Member[] {
    const node = isAlias(value) ? this.#target(value) : value;
    const maps = isSeq(node) ? node.items.map((item) => (isAlias(item) ? this.#target(item) : item)) : [node];
    const members: Member[] = [];
    // When several maps are merged, the first one wins, so it comes last.
    for (const map of maps.reverse()) {
      if (!isMap(map)) throw yamlFault("map merge requires map or sequence of maps as the value");
      const merged = this.#membersOf(map, depth + 1);
      this.#count(merged.length * mergedMemberLength);
      for (const member of merged) members.push(member);
    }
    return members;
  }

  #target(alias: Alias.Parsed): ParsedNode {
    if (++this.#aliases > maximumAliases) throw yamlFault("too many aliases");
    this.#targets ??= targetsIn(this.#document);
    const target = this.#targets.get(alias);
    if (target === undefined) throw yamlFault(`unknown anchor '${alias.source}' referenced`);
    return target;
  }

  /** Puts each key on the line where its value begins in the YAML, because upstream names that line in faults of repeated keys. */
  #toLineOf(node: ParsedNode): string {
    const { line } = this.#lines.linePos(node.range[0]);
    const missing = Math.max(0, line - this.#line);
    this.#line += missing;
    return "\n".repeat(missing);
  }

  #counted(json: string): string {
    this.#count(json.length);
    return json;
  }

  #count(length: number): void {
    this.#length += length;
    if (this.#length > maximumJsonLength) throw yamlFault("too large when expanded");
  }
}

/** The node of each alias: the last node before it with its anchor. One walk, because the library walks the document for each alias. */
function targetsIn(document: Document.Parsed): Map<Alias, ParsedNode> {
  const anchored = new Map<string, ParsedNode>();
  const targets = new Map<Alias, ParsedNode>();
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchored.get(node.source);
        if (target !== undefined) targets.set(node, target);
      } else if (node.anchor !== undefined) anchored.set(node.anchor, node as ParsedNode); // the document was parsed
    },
  });
  return targets;
}

/** Why a text is no YAML that can be converted to JSON: `yaml: unknown anchor 'x' referenced`. */
export class YamlFault extends Error {}

const yamlFault = (fault: string): YamlFault => new YamlFault(`yaml: ${fault}`);

/** A quoted `<<` is an ordinary key. */
const isMergeKey = (node: ParsedNode): boolean =>
  isScalar(node) && node.value === "<<" && node.type === "PLAIN" && node.tag === undefined;

/** The member name for a key of any scalar type (upstream: sigs.k8s.io/yaml's `convertToJSONableObject`). */
function keyName(node: ParsedNode): string {
  const value = isScalar(node) ? node.value : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint" && BigInt.asIntN(64, value) === value) return String(value);
  if (typeof value !== "number") throw yamlFault("a map's key must be a string, a number of 64 bits or a boolean");
  const source = sourceOf(node);
  if (isOverflow(value, source)) return source;
  const isFloat = !Number.isSafeInteger(value) || /^[^xX]*[.eE]/.test(source);
  return isFloat ? goFloat(value) : String(value);
}

/**
 * Formats a number like Go's `strconv.FormatFloat(value, 'g', -1, 32)`: with as few digits as distinguish 32-bit
 * numbers.
 */
function goFloat(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  if (single === 0) return Object.is(value, -0) ? "-0" : "0";
  let digits = 1;
  while (Math.fround(Number(single.toExponential(digits - 1))) !== single) digits += 1;
  const [mantissa = "", exponent = ""] = single.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  // In this range Go writes no exponent, and neither does JavaScript.
  if (power >= -4 && power < 6) return single.toFixed(Math.max(0, digits - 1 - power));
  return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function scalarJson(node: Scalar.Parsed): string {
  const { value } = node;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number" || Number.isFinite(value)) return JSON.stringify(value) ?? "null";
  const source = sourceOf(node);
  if (isOverflow(value, source)) return JSON.stringify(source);
  throw new YamlFault(`json: unsupported value: ${Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf"}`);
}

/** The scalar as written in the document. */
const sourceOf = (node: ParsedNode): string => (isScalar(node) ? (node.source ?? "") : "");
