import type { ApiObject } from "../../api/object-meta.ts";
import { byteOrdered } from "../../storage/byte-ordered.ts";
import type { StoredObject } from "../stored/stored-object.ts";

/** A key that two states of a cache do not have in common. */
export type Difference<T extends ApiObject> =
  | { readonly object: StoredObject<T>; readonly previous: StoredObject<T> | undefined }
  | { readonly object: undefined; readonly previous: StoredObject<T> };

/**
 * What differs between two states of a cache, in the order of the keys. Undefined stands for an object that is the same, so that a
 * reader can pause; its text is not read. Another object of the same name comes as a deletion and as a new one, but where a text is
 * lost (`hasText`) or damaged, as a change.
 */
export function* differences<T extends ApiObject>(
  before: Iterable<StoredObject<T>>,
  now: Iterable<StoredObject<T>>,
): Generator<Difference<T> | undefined, void> {
  const rest = before[Symbol.iterator]();
  const next = (): StoredObject<T> | undefined => {
    const { done, value } = rest.next();
    return done === true ? undefined : value;
  };
  let previous = next();
  for (const object of now) {
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

/** Between two loads of the cache, another object may have got the same name. */
function isSameObject(object: StoredObject, previous: StoredObject): boolean {
  const [uid, previousUid] = [uidOf(object), uidOf(previous)];
  return uid === undefined || previousUid === undefined || uid === previousUid;
}

/** Undefined for a text that is lost, encrypted or damaged: who reads it is told why. */
function uidOf(stored: StoredObject): string | undefined {
  if (stored.unreadable !== undefined || !stored.hasText) return undefined;
  try {
    return stored.object.metadata.uid;
  } catch {
    return undefined;
  }
}
