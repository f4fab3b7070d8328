import type { HttpResponse } from "../../api/http-message.ts";
import { addWarnings } from "../warning-header.ts";

/** Collects the sentences for an answer's Warning headers; each is sent once. */
export class Warnings {
  readonly #texts = new Set<string>();

  add(text: string): void {
    this.#texts.add(text);
  }

  /** The answer with the warnings that fit. */
  addTo(response: HttpResponse): HttpResponse {
    addWarnings(response, this.#texts);
    return response;
  }
}
