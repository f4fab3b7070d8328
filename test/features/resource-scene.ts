import { readFileSync } from "node:fs";
import { join } from "node:path";
import { platformNames } from "../../src/machinery/api/names.ts";
import type { ApiObject } from "../../src/machinery/api/object-meta.ts";
import type { UserInfo } from "../../src/machinery/api/user-info.ts";
import type { KindFault } from "../../src/machinery/registry/definition/kind-faults.ts";
import type { HookContext, ResourceDefinition } from "../../src/machinery/registry/definition/resource-definition.ts";

export const names = platformNames;
export const alice: UserInfo = {
  username: "alice",
  uid: "u-1",
  groups: ["dev", "system:authenticated"],
  extra: { scope: ["a", "b"] },
};

export const now = Date.parse("2026-03-04T05:06:07Z");
export const nowText = "2026-03-04T05:06:07Z";
export const context: HookContext = { user: alice, namespace: "ns", requestedGroup: "", isDryRun: false, now };

const fixtures = join(import.meta.dirname, "../conformance/fixtures");
export const pem = (file: string): string => readFileSync(join(fixtures, file), "utf8");
export const base64 = (file: string): string => Buffer.from(pem(file)).toString("base64");

/** The kind's own faults, without the places of those of the metadata. */
export const messages = (faults: readonly KindFault[] = []): string[] =>
  faults.flatMap((fault) => (typeof fault === "string" ? [] : [`${fault.field}: ${fault.message}`]));

/** A new object after a definition's defaults and preparation, as in the registry. */
export function prepared<T extends ApiObject>(definition: ResourceDefinition<T>, object: T): T {
  const defaulted = definition.setDefaults?.(object, { ...context, requestedGroup: definition.group }) ?? object;
  return definition.prepareForCreate?.(defaulted, context) ?? defaulted;
}

export const faultsOfNew = <T extends ApiObject>(definition: ResourceDefinition<T>, object: T): string[] =>
  messages(definition.validate?.(prepared(definition, object), context));

/** The same for a definition whose validation waits for the thread pool, or takes turns. */
export async function startedFaultsOfNew<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  object: T,
): Promise<string[]> {
  const validate = await definition.startValidation?.(prepared(definition, object), context);
  return messages(validate?.());
}

export const faultsOfChange = <T extends ApiObject>(
  definition: ResourceDefinition<T>,
  next: T,
  previous: T,
): string[] => {
  const update = { ...context, previous };
  return messages(definition.validateUpdate?.(definition.prepareForUpdate?.(next, update) ?? next, update));
};

/** The same for a definition whose validation takes turns. */
export async function startedFaultsOfChange<T extends ApiObject>(
  definition: ResourceDefinition<T>,
  next: T,
  previous: T,
): Promise<string[]> {
  const validate = await definition.startUpdateValidation?.(next, { ...context, previous });
  return messages(validate?.());
}

/** The cells of a definition's row, without the name that most kinds have first. */
export const cells = <T extends ApiObject>(definition: ResourceDefinition<T>, object: T): unknown[] =>
  definition.columns
    .slice(definition.columns[0]?.name === "Name" ? 1 : 0)
    .map((column) => column.cell(object, { now }));
