import { ApiError } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { StoredObject } from "./stored-object.ts";

/**
 * One version of an object that can't be decrypted. Its key and revision are known. Reading its contents throws a 500 that
 * names the object and the reason, in upstream's words. So a list with such an object fails, instead of leaving it out.
 */
export class UnreadableObject<T extends ApiObject = ApiObject> extends StoredObject<T> {
  readonly #reason: string;

  constructor({ key, revision, reason }: { readonly key: string; readonly revision: number; readonly reason: string }) {
    super({ prefix: "", key, value: noBytes, revision });
    this.#reason = reason;
  }

  override get unreadable(): string {
    return this.#reason;
  }

  override textAs(): never {
    throw this.#failure();
  }

  override get itemText(): never {
    throw this.#failure();
  }

  override get object(): never {
    throw this.#failure();
  }

  override get labels(): never {
    throw this.#failure();
  }

  override contains(): true {
    return true;
  }

  override at(revision: number): UnreadableObject<T> {
    return new UnreadableObject<T>({ key: this.key, revision, reason: this.#reason });
  }

  #failure(): ApiError {
    return new ApiError({
      code: 500,
      reason: "InternalError",
      message:
        `Internal error occurred: unable to transform key ${JSON.stringify(this.key)}: ${this.#reason}; ` +
        "signet encryption status on the server's machine shows all such objects",
    });
  }
}
