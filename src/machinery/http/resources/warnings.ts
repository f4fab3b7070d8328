import { shortened } from "../../api/shown-value.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import { addWarnings, maximumWarningBytes } from "../warning-header.ts";

/** Collects the sentences for an answer's Warning headers; each is sent once. */
export class Warnings {
  readonly #texts = new Set<string>();
  #length = 0;

  /** What comes after as much as an answer may carry is not kept. */
  add(text: string): void {
    if (this.#length > maximumWarningBytes || this.#texts.has(text)) return;
    const shown = shortened(text);
    this.#texts.add(shown);
    this.#length += shown.length;
  }

  /** The answer with the warnings that fit. */
  addTo(response: HttpResponse): HttpResponse {
    addWarnings(response, this.#texts);
    return response;
  }
}
