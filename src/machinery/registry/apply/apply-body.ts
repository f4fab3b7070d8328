import { badRequest } from "../../api/api-error.ts";
import type { ApiObject } from "../../api/object-meta.ts";
import { isJsonObject, memberOf } from "../../api/json-object.ts";
import { jsonTypeName } from "../patch/json-value.ts";

export interface AppliedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const printKind = ({ group, version, kind }: AppliedKind): string => `${group}/${version}, Kind=${kind}`;

/**
 * Checks the parsed body of an apply (YAML or JSON; an empty body is null): it must be an object of exactly the kind of
 * the path. Throws 400 ApiErrors in upstream's words. The caller handles parse errors.
 */
export function parseConfiguration(body: unknown, expected: AppliedKind): ApiObject {
  if (body !== null && !isJsonObject(body)) {
    throw badRequest(
      "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal " +
        `${jsonTypeName(body)} into Go value of type map[string]interface {}`,
    );
  }
  const configuration = body ?? {};
  const given = kindOf(configuration);
  if (printKind(given) !== printKind(expected)) throw badRequest(`invalid object type: ${printKind(given)}`);
  const metadata = memberOf(configuration, "metadata") ?? {};
  return { ...configuration, metadata } as ApiObject; // its fields are checked when it is applied
}

function kindOf(configuration: Readonly<Record<string, unknown>>): AppliedKind {
  const text = (key: string): string => {
    const value = memberOf(configuration, key);
    return typeof value === "string" ? value : "";
  };
  const parts = text("apiVersion").split("/");
  const [group = "", version = ""] = parts.length === 1 ? ["", parts[0]] : parts.length === 2 ? parts : [];
  return { group, version, kind: text("kind") };
}
