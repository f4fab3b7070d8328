import { shortened } from "../../api/shown-value.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import { warningValue } from "../warning-value.ts";

/** What all warnings of an answer may be together, in bytes: proxies refuse larger headers (upstream's bound). */
const maximumTotalBytes = 4096;

/** Collects the sentences for an answer's Warning headers; each is sent once. */
export class Warnings {
  readonly #texts = new Set<string>();
  #length = 0;

  /** What comes after as much as an answer may carry is not kept. */
  add(text: string): void {
    if (this.#length > maximumTotalBytes || this.#texts.has(text)) return;
    const shown = shortened(text);
    this.#texts.add(shown);
    this.#length += shown.length;
  }

  /** The answer with the warnings that fit. */
  addTo(response: HttpResponse): HttpResponse {
    if (this.#texts.size === 0) return response;
    const values: string[] = [];
    let totalBytes = 0;
    for (const text of this.#texts) {
      const value = warningValue(text);
      totalBytes += value.length;
      if (totalBytes > maximumTotalBytes) break;
      values.push(value);
    }
    if (values.length > 0) response.headers["warning"] = values;
    return response;
  }
}
