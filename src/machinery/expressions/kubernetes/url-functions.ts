import type { Environment } from "@marcbachmann/cel-js";
import { spendSteps } from "../cost-budget.ts";

/** Reading one parameter of a query takes as long as this many steps: some microseconds. */
const stepsOfParameter = 100;

/** An absolute URL, or an absolute path. */
class CelUrl {
  readonly text: string;
  readonly #url: URL;
  readonly #isPath: boolean;

  constructor(text: string) {
    // Go's url.ParseRequestURI, which upstream uses.
    this.#isPath = text.startsWith("/");
    const url = /[\s#]/.test(text) ? null : URL.parse(text, this.#isPath ? "https://none.invalid" : undefined);
    if (url === null)
      throw new Error(`URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI`);
    this.text = text;
    this.#url = url;
  }

  get scheme(): string {
    return this.#isPath ? "" : this.#url.protocol.slice(0, -1);
  }
  get host(): string {
    return this.#isPath ? "" : (/^[^:]+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(this.text)?.[1] ?? "");
  }
  get port(): string {
    return /:(\d+)$/.exec(this.host)?.[1] ?? "";
  }
  get hostname(): string {
    return this.host.replace(/:\d*$/, "").replace(/^\[|\]$/g, "");
  }
  get escapedPath(): string {
    return this.#isPath || this.#url.host !== ""
      ? this.#url.pathname === "/" && !this.#pathIsWritten()
        ? ""
        : this.#url.pathname
      : "";
  }
  get query(): ReadonlyMap<string, readonly string[]> {
    spendSteps(stepsOfParameter * (this.#url.search.split("&").length - 1));
    const found = new Map<string, string[]>();
    for (const [key, value] of this.#url.searchParams) {
      const values = found.get(key);
      if (values === undefined) found.set(key, [value]);
      else values.push(value);
    }
    return found;
  }
  toString(): string {
    return this.text;
  }

  #pathIsWritten(): boolean {
    return this.#isPath || this.text.slice(this.text.indexOf("://") + 3).includes("/");
  }
}

const isUrl = (text: string): boolean => {
  try {
    return new CelUrl(text).text === text;
  } catch {
    return false;
  }
};

export function addUrlFunctions(environment: Environment): void {
  const type = "kubernetes.URL";
  const add = (signature: string, handler: (...given: never[]) => unknown): unknown =>
    environment.registerFunction(signature, handler, { async: false });
  environment.registerType(type, CelUrl);
  environment.registerOperator(`${type} == ${type}`, (one: CelUrl, other: CelUrl) => one.text === other.text);
  add(`url(string): ${type}`, (text: string) => new CelUrl(text));
  add("isURL(string): bool", isUrl);
  const addPart = (signature: string, read: (url: CelUrl) => unknown): unknown =>
    add(`${type}.${signature}`, (url: CelUrl) => {
      // Each look at a part reads the text again.
      spendSteps(url.text.length / 10);
      return read(url);
    });
  addPart("getScheme(): string", (url) => url.scheme);
  addPart("getHost(): string", (url) => url.host);
  addPart("getHostname(): string", (url) => url.hostname);
  addPart("getPort(): string", (url) => url.port);
  addPart("getEscapedPath(): string", (url) => url.escapedPath);
  addPart("getQuery(): map<string, list<string>>", (url) => url.query);
}
