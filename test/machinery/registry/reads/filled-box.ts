import assert from "node:assert/strict";
import { deleteObject } from "../../../../src/machinery/registry/writes/delete-object.ts";
import { listObjects } from "../../../../src/machinery/registry/reads/list-objects.ts";
import { parseListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import type { ListOptions } from "../../../../src/machinery/registry/reads/list-options.ts";
import { patchObject } from "../../../../src/machinery/registry/writes/patch-object.ts";
import { toyBox, toys } from "../toy-resource.ts";
import type { Toy, ToyBox } from "../toy-resource.ts";

export const options = (query: string, { namespace = "box" } = {}): ListOptions<Toy> =>
  parseListOptions(toys, { query, namespace, name: "" });

export const list = (box: ToyBox, query = "") => listObjects(box.registry, options(query));

export const names = async (box: ToyBox, query = ""): Promise<(string | undefined)[]> =>
  Array.from((await list(box, query)).items, ({ object }) => object.metadata.name);

export const remove = ({ registry, caller }: ToyBox, name: string): ReturnType<typeof deleteObject<Toy>> =>
  deleteObject(registry, { namespace: "box", name, options: { isDryRun: false }, caller });

export const paint = ({ registry, caller }: ToyBox, name: string, color: string) =>
  patchObject(registry, {
    type: "merge",
    text: JSON.stringify({ color }),
    options: { isDryRun: false, fieldManager: "", fieldValidation: "Warn", isForced: false },
    namespace: "box",
    name,
    subresource: "",
    manager: "test",
    caller,
    authorizeCreate: () => assert.fail("the toy exists"),
  });

/** A box with this many toys, red and blue in turns. */
export async function filled(count: number): Promise<ToyBox> {
  const box = await toyBox();
  for (let index = 0; index < count; index += 1) {
    await box.add(`toy-${index}`, { color: index % 2 === 0 ? "red" : "blue" });
  }
  return box;
}
