import { badRequest } from "../api-error.ts";
import { invalidValue } from "../validation/field-error.ts";
import { labelValueFaults, qualifiedNameFaults } from "../validation/label-validation.ts";
import { integerOf } from "./label-selector.ts";
import type { BinaryOperator, LabelRequirement, LabelSelector } from "./label-selector.ts";

/**
 * Parses upstream's selector language (apimachinery `labels.Parse`), with its messages and its order: by key. Throws a 400
 * ApiError.
 */
export const parseLabelSelector = (text: string): LabelSelector =>
  new Parser(scan(text)).parse().toSorted((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));

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

  /** Where no operator is possible, `in` and `notin` are ordinary words. */
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
  if ((operator === ">" || operator === "<") && integerOf(values[0] ?? "") === undefined) {
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
