import type { ApiObject } from "../../api/object-meta.ts";
import type { CompiledKind } from "./compile-kind.ts";
import { kindPrefix } from "../stored/stored-object.ts";
import type { KindPrefix, StoredObject } from "../stored/stored-object.ts";

/** Converts stored objects to the form of one version. The store, hooks and admission use the stored form. */
export class ServedVersion<T extends ApiObject = ApiObject> {
  readonly #compiled: CompiledKind<T>;
  readonly #prefix: KindPrefix;

  constructor(compiled: CompiledKind<T>, kind: string) {
    this.#compiled = compiled;
    this.#prefix = kindPrefix({ kind, apiVersion: compiled.apiVersion });
  }

  object(object: T): T {
    const { apiVersion, fieldNames } = this.#compiled;
    if (object.apiVersion === apiVersion) return object;
    const fields = fieldNames === undefined ? object : fieldNames.toServed(object);
    return { ...fields, apiVersion } as T; // in the form of the version's schema
  }

  /** The JSON of an object. */
  text(stored: StoredObject<T>): string {
    return this.#compiled.fieldNames === undefined
      ? stored.textAs(this.#prefix)
      : JSON.stringify(this.object(stored.object));
  }

  /** An item of a list: without kind and apiVersion, which follow from the list's. */
  item({ object }: StoredObject<T>): T {
    const { kind: _kind, apiVersion: _apiVersion, ...item } = this.object(object);
    return item as unknown as T; // the form of T inside a list
  }

  /** The JSON of an item of a list. */
  itemText(stored: StoredObject<T>): string {
    return this.#compiled.fieldNames === undefined ? stored.itemText : JSON.stringify(this.item(stored));
  }
}
