import { shortened } from "../../api/shown-value.ts";
import type { HttpResponse } from "../../api/http-message.ts";
import { addWarnings, maximumWarningBytes } from "../warning-header.ts";

/** Collects sentences for an answer's Warning headers, without duplicates. */
export class Warnings {
  readonly #texts = new Set<string>();
  #length = 0;

  /** Sentences beyond the size limit of an answer are dropped. */
  add(text: string): void {
    if (this.#length > maximumWarningBytes || this.#texts.has(text)) return;
    const shown = shortened(text);
    this.#texts.add(shown);
    this.#length += shown.length;
  }

  /** Adds the warnings that fit to the answer. */
  addTo(response: HttpResponse): HttpResponse {
    addWarnings(response, this.#texts);
    return response;
  }
}
