import { badRequest } from "../api-error.ts";
import { invalidValue } from "../validation/field-error.ts";
import { labelValueFaults, qualifiedNameFaults } from "../validation/label-validation.ts";

/**
 * `exists` and `doesNotExist` have no values, `in` and `notin` have any number, the other operators have exactly one.
 * Values are sorted and distinct.
 */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

type LabelOperator = BinaryOperator | "exists" | "doesNotExist";
type BinaryOperator = "in" | "notin" | "=" | "==" | "!=" | ">" | "<";

/** All requirements must match. An empty selector matches everything. */
export type LabelSelector = readonly LabelRequirement[];

export type Labels = Readonly<Record<string, string>>;

/**
 * Parses upstream's selector language (apimachinery `labels.Parse`), with its messages and its order: by key. Throws a 400
 * ApiError.
 */
export const parseLabelSelector = (text: string): LabelSelector =>
  new Parser(scan(text)).parse().toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));

/** A selector as objects have it (`metav1.LabelSelector`). */
export interface LabelSelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const objectOperators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "doesNotExist",
};

/** The requirements of a selector object. Throws TypeError for an operator that validation refuses. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): LabelSelector {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: "=" as const, values: [value] })),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      const known = objectOperators[operator];
      if (known === undefined) throw new TypeError(`${operator} is not an operator of a label selector`);
      return { key, operator: known, values };
    }),
  ];
}

export type LabelMatcher = (labels?: Labels) => boolean;

/**
 * Returns a function that tells whether labels match a selector. Make it once for many objects: a selector may have thousands of
 * requirements and values, but the cost for each object depends only on the number of its labels.
 */
export function labelMatcher(selector: LabelSelector): LabelMatcher {
  const ofKeys = new Map<string, KeyRequirements>();
  for (const requirement of selector) {
    const ofKey = ofKeys.get(requirement.key) ?? new KeyRequirements();
    ofKeys.set(requirement.key, ofKey);
    ofKey.add(requirement);
  }
  const needed = [...ofKeys.values()].filter(({ isNeeded }) => isNeeded).length;
  return (labels = {}) => {
    let found = 0;
    for (const [key, value] of Object.entries(labels)) {
      const ofKey = ofKeys.get(key);
      if (ofKey === undefined) continue;
      if (!ofKey.areMetBy(value)) return false;
      if (ofKey.isNeeded) found += 1;
    }
    return found === needed;
  };
}

/** All requirements of one key, combined. */
class KeyRequirements {
  /** Whether labels without the key do not match. */
  isNeeded = false;
  #mayExist = true;
  #listed: ReadonlySet<string> | undefined;
  readonly #excluded = new Set<string>();
  #above: bigint | undefined;
  #below: bigint | undefined;

  add({ operator, values }: LabelRequirement): void {
    this.isNeeded ||= operator !== "doesNotExist" && operator !== "notin" && operator !== "!=";
    switch (operator) {
      case "exists":
        return;
      case "doesNotExist":
        this.#mayExist = false;
        return;
      case "in":
      case "=":
      case "==":
        this.#listed = new Set(this.#listed === undefined ? values : values.filter((one) => this.#listed?.has(one)));
        return;
      case "notin":
      case "!=":
        for (const value of values) this.#excluded.add(value);
        return;
      case ">":
      case "<":
        this.#addBound(operator, parseInteger(values[0] ?? ""));
    }
  }

  #addBound(operator: ">" | "<", bound: bigint | undefined): void {
    if (bound === undefined) this.#mayExist = false;
    else if (operator === ">") this.#above = this.#above === undefined || bound > this.#above ? bound : this.#above;
    else this.#below = this.#below === undefined || bound < this.#below ? bound : this.#below;
  }

  areMetBy(value: string): boolean {
    if (!this.#mayExist || this.#excluded.has(value) || this.#listed?.has(value) === false) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = parseInteger(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }
}

/** Parses a 64-bit integer like Go. */
function parseInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

// ---- the language -------------------------------------------------------------------------------

type Token = "identifier" | "end" | BinaryOperator | "!" | "(" | ")" | ",";

interface ScannedToken {
  readonly token: Token;
  readonly literal: string;
}

const symbols = new Set<string>(["=", "==", "!=", "!", "(", ")", ",", ">", "<"] satisfies Token[]);
const binaryOperators = new Set<string>(["in", "notin", "=", "==", "!=", ">", "<"] satisfies BinaryOperator[]);
// The length first: a set computes a hash of each text.
const isSymbol = (text: string): text is Token => text.length <= 2 && symbols.has(text);
const isBinaryOperator = (token: Token): token is BinaryOperator => binaryOperators.has(token);

function scan(text: string): ScannedToken[] {
  const tokens: ScannedToken[] = [];
  // Not \s: JavaScript's white space has no-break spaces and more, which upstream refuses as parts of a word.
  for (const literal of text.match(/==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+/g) ?? []) {
    const isWord = literal === "in" || literal === "notin";
    tokens.push({ token: isWord || isSymbol(literal) ? literal : "identifier", literal });
  }
  return tokens;
}

const endOfText: ScannedToken = { token: "end", literal: "" };

class Parser {
  readonly #tokens: readonly ScannedToken[];
  #position = 0;

  constructor(tokens: readonly ScannedToken[]) {
    this.#tokens = tokens;
  }

  parse(): LabelSelector {
    const requirements: LabelRequirement[] = [];
    if (this.#peek().token === "end") return requirements;
    for (;;) {
      const { token, literal } = this.#peek();
      if (token !== "identifier" && token !== "!") {
        throw badRequest(
          requirements.length === 0
            ? `found '${literal}', expected: !, identifier, or 'end of string'`
            : `found '${literal}', expected: identifier after ','`,
        );
      }
      requirements.push(this.#parseRequirement());
      const next = this.#take();
      if (next.token === "end") return requirements;
      if (next.token !== ",") throw badRequest(`found '${next.literal}', expected: ',' or 'end of string'`);
    }
  }

  /** Where no operator can stand, `in` and `notin` are ordinary words. */
  #peek(): ScannedToken {
    const found = this.#tokens[this.#position] ?? endOfText;
    return found.token === "in" || found.token === "notin" ? { ...found, token: "identifier" } : found;
  }

  #take(): ScannedToken {
    const found = this.#peek();
    this.#position += 1;
    return found;
  }

  #parseRequirement(): LabelRequirement {
    let found = this.#take();
    const isNegated = found.token === "!";
    if (isNegated) found = this.#take();
    if (found.token !== "identifier") throw unparsable(`found '${found.literal}', expected: identifier`);
    const key = found.literal;
    const keyFaults = qualifiedNameFaults(key);
    if (keyFaults.length > 0)
      throw unparsable(`<nil>: ${invalidValue("", { value: key, detail: keyFaults.join("; ") }).message}`);
    if (isNegated) return { key, operator: "doesNotExist", values: [] };
    const { token } = this.#peek();
    if (token === "end" || token === ",") return { key, operator: "exists", values: [] };

    const operator = this.#parseOperator();
    const parsed = operator === "in" || operator === "notin" ? this.#parseValues() : [this.#parseExactValue()];
    const values = [...new Set(parsed)].sort();
    checkValues({ key, operator, values });
    return { key, operator, values };
  }

  #parseOperator(): BinaryOperator {
    const { token, literal } = this.#tokens[this.#position] ?? endOfText;
    this.#position += 1;
    if (!isBinaryOperator(token)) throw unparsable(`found '${literal}', expected: in, notin, =, ==, !=, gt, lt`);
    return token;
  }

  #parseExactValue(): string {
    const { token, literal } = this.#peek();
    if (token === "end" || token === ",") return "";
    this.#position += 1;
    if (token !== "identifier") throw unparsable(`found '${literal}', expected: identifier`);
    return literal;
  }

  /** Parses `(a,b)`. Nothing before, between or after the commas means the empty value. */
  #parseValues(): string[] {
    const open = this.#take();
    if (open.token !== "(") throw unparsable(`found '${open.literal}' expected: '('`);
    const values: string[] = [];
    let isValueDue = true;
    for (;;) {
      const { token, literal } = this.#take();
      if (token === ")") return isValueDue ? [...values, ""] : values;
      if (token === ",") {
        if (isValueDue) values.push("");
        isValueDue = true;
      } else if (token !== "identifier" || !isValueDue) {
        throw unparsable(
          `found '${literal}', expected: ${isValueDue ? (values.length === 0 ? "',', ')' or identifier" : "',', or identifier") : "',' or ')'"}`,
        );
      } else {
        values.push(literal);
        isValueDue = false;
      }
    }
  }
}

const unparsable = (fault: string): Error => badRequest(`unable to parse requirement: ${fault}`);

const maximumShownFaults = 20;

function checkValues({ key, operator, values }: LabelRequirement): void {
  const faults: string[] = [];
  if ((operator === ">" || operator === "<") && parseInteger(values[0] ?? "") === undefined) {
    const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
    faults.push(`values[0]: ${invalidValue("", { value: values[0], detail }).message}`);
  }
  for (const [index, value] of values.entries()) {
    // A client may send thousands of values, and selectors are parsed before authorization.
    if (faults.length === maximumShownFaults) break;
    const fault = labelValueFaults(value).join("; ");
    if (fault !== "") faults.push(`values[${index}][${key}]: ${invalidValue("", { value, detail: fault }).message}`);
  }
  if (faults.length > 0) throw unparsable(faults.length === 1 ? String(faults[0]) : `[${faults.join(", ")}]`);
}
