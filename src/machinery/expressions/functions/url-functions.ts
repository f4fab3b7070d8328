import { unescape } from "node:querystring";
import type { Environment } from "@marcbachmann/cel-js";
import { messageOf } from "../../api/thrown-error.ts";
import { addFunctions, parses } from "../add-functions.ts";
import { spendSteps } from "../cost-budget.ts";
import { parseUrl } from "../../../pki/names/parse-url.ts";
import type { ParsedUrl } from "../../../pki/names/parse-url.ts";

/** Reading one parameter of a query takes as long as this many steps: some microseconds. */
const stepsOfParameter = 100;

/** Parses as `parseUrl` does. Throws an Error with Go's words. */
export function parseGoUrl(text: string, options: Parameters<typeof parseUrl>[1]): ParsedUrl {
  try {
    return parseUrl(text, options);
  } catch (error) {
    throw new Error(`parse ${JSON.stringify(text)}: ${messageOf(error)}`, { cause: error });
  }
}

/** An absolute URL, or an absolute path. */
class CelUrl {
  readonly text: string;
  readonly #parts: ParsedUrl;

  constructor(text: string) {
    try {
      // As upstream, parse twice: the first checks the text, and the second separates the fragment.
      parseGoUrl(text, { isRequest: true });
      this.#parts = parseGoUrl(text, { isRequest: false });
    } catch (error) {
      throw new Error(`URL parse error during conversion from string: ${messageOf(error)}`, { cause: error });
    }
    this.text = text;
  }

  get scheme(): string {
    return this.#parts.scheme;
  }
  get host(): string {
    return decoded(this.#parts.host);
  }
  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }
  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  }
  /** The path as it was written, unless it has characters that must be escaped. */
  get escapedPath(): string {
    const { path } = this.#parts;
    if (/^[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path;
    spendSteps(8 * path.length);
    return path.replaceAll(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-_.~$&+,;=:@/%]/gu, escaped);
  }
  /** Parameters that Go does not read are left out. */
  get query(): ReadonlyMap<string, readonly string[]> {
    const pairs = this.#parts.query.split("&");
    spendSteps(stepsOfParameter * (pairs.length - 1));
    const found = new Map<string, string[]>();
    for (const pair of pairs) {
      if (pair === "" || pair.includes(";") || /%(?![0-9A-Fa-f]{2})/.test(pair)) continue;
      const [key = "", value = ""] = pair.split(/=(.*)/s, 2).map((part) => decoded(part.replaceAll("+", " ")));
      const values = found.get(key);
      if (values === undefined) found.set(key, [value]);
      else values.push(value);
    }
    return found;
  }
  toString(): string {
    return this.text;
  }
}

const decoded = (text: string): string => (text.includes("%") ? unescape(text) : text);

/** As Go does, removes an escape that is not needed, and escapes what needs it. */
function escaped(part: string): string {
  const isEscape = part.length === 3 && part.startsWith("%");
  const bytes = isEscape ? Buffer.from(part.slice(1), "hex") : Buffer.from(part);
  const text = bytes.toString("latin1");
  if (/^[A-Za-z0-9\-_.~$&+,;=:@/]$/.test(text)) return text;
  return Array.from(bytes, (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

const isUrl = parses((text: string) => parseUrl(text, { isRequest: true }));

export function addUrlFunctions(environment: Environment): void {
  const type = "kubernetes.URL";
  environment.registerType(type, CelUrl);
  environment.registerOperator(`${type} == ${type}`, (one: CelUrl, other: CelUrl) => one.text === other.text);
  const part = (read: (url: CelUrl) => unknown) => (url: CelUrl) => {
    // Each access to a part reads the whole text again.
    spendSteps(url.text.length / 10);
    return read(url);
  };
  addFunctions(environment, {
    [`url(string): ${type}`]: (text: string) => new CelUrl(text),
    "isURL(string): bool": isUrl,
    [`${type}.getScheme(): string`]: part((url) => url.scheme),
    [`${type}.getHost(): string`]: part((url) => url.host),
    [`${type}.getHostname(): string`]: part((url) => url.hostname),
    [`${type}.getPort(): string`]: part((url) => url.port),
    [`${type}.getEscapedPath(): string`]: part((url) => url.escapedPath),
    [`${type}.getQuery(): map<string, list<string>>`]: part((url) => url.query),
  });
}
