import type { ApiObject } from "../../api/object-meta.ts";
import { byteOrdered } from "../../storage/byte-ordered.ts";
import type { StoredObject } from "../stored/stored-object.ts";

/** The objects of a key in two states of a cache, when they differ. */
export type Difference<T extends ApiObject> =
  | { readonly object: StoredObject<T>; readonly previous: StoredObject<T> | undefined }
  | { readonly object: undefined; readonly previous: StoredObject<T> };

/**
 * Yields the differences between two states of a cache, in the order of the keys, and undefined for each unchanged object, so that a
 * reader can pause. The texts of unchanged objects are not read. When an object was replaced by a new object of the same name, yields a
 * deletion and a creation; but a change when either text is lost (`hasText`), encrypted or damaged, because the uid is then not known.
 */
export function* differences<T extends ApiObject>(
  before: Iterable<StoredObject<T>>,
  after: Iterable<StoredObject<T>>,
): Generator<Difference<T> | undefined, void> {
  const rest = before[Symbol.iterator]();
  const next = (): StoredObject<T> | undefined => {
    const { done, value } = rest.next();
    return done === true ? undefined : value;
  };
  let previous = next();
  for (const object of after) {
    for (; previous !== undefined && isBefore(previous, object); previous = next())
      yield { object: undefined, previous };
    if (previous?.key !== object.key) {
      yield { object, previous: undefined };
      continue;
    }
    yield* differencesOf(previous, object);
    previous = next();
  }
  for (; previous !== undefined; previous = next()) yield { object: undefined, previous };
}

const isBefore = (one: StoredObject, other: StoredObject): boolean =>
  one.key !== other.key && byteOrdered(one.key) < byteOrdered(other.key);

function* differencesOf<T extends ApiObject>(
  previous: StoredObject<T>,
  object: StoredObject<T>,
): Generator<Difference<T> | undefined, void> {
  if (previous.revision === object.revision && previous.unreadable === object.unreadable) yield undefined;
  else if (isSameObject(object, previous)) yield { object, previous };
  else {
    yield { object: undefined, previous };
    yield { object, previous: undefined };
  }
}

/** Whether two objects with one key have the same uid. Between two loads of the cache, an object may be deleted and created again. */
function isSameObject(object: StoredObject, previous: StoredObject): boolean {
  const [uid, previousUid] = [uidOf(object), uidOf(previous)];
  return uid === undefined || previousUid === undefined || uid === previousUid;
}

/** The uid of an object. Undefined when its text is lost, encrypted or damaged: a later reader of the object gets the error. */
function uidOf(stored: StoredObject): string | undefined {
  if (stored.unreadable !== undefined || !stored.hasText) return undefined;
  try {
    return stored.object.metadata.uid;
  } catch {
    return undefined;
  }
}
