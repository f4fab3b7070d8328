import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { patchObject } from "../../../../src/machinery/registry/writes/patch-object.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

export const where = { namespace: "box", name: "bear" };

export const authorizeCreate = async (): Promise<void> => {};

export const options = { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false } as const;

export const patch = ({ registry, caller }: ToyBox, text: string, more: object = {}) =>
  patchObject(registry, {
    type: "merge",
    text,
    options,
    ...where,
    subresource: "",
    manager: "test",
    caller,
    authorizeCreate,
    ...more,
  });

export const remove = ({ registry, caller }: ToyBox, sent: object = {}): ReturnType<typeof deleteObject<Toy>> =>
  deleteObject(registry, { ...where, options: { isDryRun: false, ...sent }, caller });

/** Lets another writer be faster than the next write. */
export function overtakeNextWrite({ store }: ToyBox, other: () => Promise<unknown>): void {
  const write = store.write.bind(store);
  store.write = async (request) => {
    store.write = write;
    await other();
    return write(request);
  };
}
