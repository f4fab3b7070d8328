import type { JsonObject } from "../../api/json/json-object.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { namedFile, readNamedFile } from "./kubeconfig-files.ts";

/** A text that is not empty. Undefined for all other values. */
export const nonEmpty = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** An entry of a list of a kubeconfig, with the file where it is. */
export interface KubeconfigEntry {
  readonly path: string;
  readonly fields: Readonly<JsonObject>;
}

/** The PEM text of `KEY-data`, which is in base64, or of the file that `KEY` names. */
export function pemOf({ fields, path }: KubeconfigEntry, key: string): string | undefined {
  const data = nonEmpty(fields[`${key}-data`]);
  if (data !== undefined) {
    const pem = Buffer.from(data, "base64").toString("utf8");
    if (pem.includes("-----BEGIN ")) return pem;
    throw new KubeconfigError(`kubeconfig ${path}: ${key}-data is not PEM text in base64; get a new kubeconfig`);
  }
  const name = nonEmpty(fields[key]);
  if (name === undefined) return undefined;
  const pem = readNamedFile(name, path);
  if (pem.includes("-----BEGIN ")) return pem;
  throw new KubeconfigError(`kubeconfig ${path} names ${name} as ${key}, which is not a PEM file; name another`);
}

/** The PEM files that an entry names. */
export const pemFilesOf = ({ fields, path }: KubeconfigEntry, keys: readonly string[]): string[] =>
  keys.flatMap((key) => {
    const name = nonEmpty(fields[key]);
    return name === undefined ? [] : [namedFile(name, path)];
  });
