import { isJsonObject, jsonFields } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import type { ActingUser } from "./acting-headers.ts";
import type { HttpsTransportOptions } from "../https/https-transport.ts";
import { isTokenText } from "../is-token-text.ts";
import { nonEmpty, pemOf } from "./kubeconfig-entry.ts";
import type { KubeconfigEntry } from "./kubeconfig-entry.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { readNamedFile } from "./kubeconfig-files.ts";

/**
 * Throws KubeconfigError for a login method that kubectl supports and Signet does not, and for a certificate without a key or the reverse.
 */
export function checkLogin(
  { fields }: KubeconfigEntry,
  { who, hasFlags }: { readonly who: string; readonly hasFlags: boolean },
): void {
  const advice = hasFlags
    ? "give --token, or make a kubeconfig with signet kubeconfig"
    : "give it a token, or a client certificate and its key";
  for (const way of ["exec", "auth-provider", "username"]) {
    if (fields[way] !== undefined && fields[way] !== null) {
      throw new KubeconfigError(`${who} logs in by ${way}, which signet cannot do; ${advice}`);
    }
  }
  const hasCertificate = hasPem(fields, "client-certificate");
  if (hasCertificate !== hasPem(fields, "client-key")) {
    const missing = hasCertificate ? "client-key" : "client-certificate";
    throw new KubeconfigError(`${who} has no ${missing}; certificate and key go together`);
  }
}

/** The user as whom an entry acts, as kubectl reads it. Throws for a malformed part: without it, the client would have other rights. */
export function actingUserOf({ fields }: KubeconfigEntry, who: string): ActingUser | undefined {
  const wrong = (key: string, what: string): KubeconfigError =>
    new KubeconfigError(`${who} acts as another user, but ${key} is not ${what}; correct it`);
  const name = (value: unknown, key: string): string => {
    if (typeof value === "string" && value !== "" && !/\p{Cc}/u.test(value)) return value;
    throw wrong(key, "a text without control characters");
  };
  const names = (value: unknown, key: string): string[] => {
    if (Array.isArray(value)) return value.map((one) => name(one, key));
    throw wrong(key, "a list");
  };
  const [user, uid, groups, extra] = ["as", "as-uid", "as-groups", "as-user-extra"].map(
    (key) => fields[key] ?? undefined,
  );
  if ([user, uid, groups, extra].every((value) => value === undefined || value === "")) return undefined;
  if (extra !== undefined && !isJsonObject(extra)) throw wrong("as-user-extra", "a mapping");
  return {
    user: name(user, "as"),
    ...(uid !== undefined && { uid: name(uid, "as-uid") }),
    ...(groups !== undefined && { groups: names(groups, "as-groups") }),
    extra: Object.fromEntries(
      Object.entries(jsonFields(extra)).map(([key, values]) => [name(key, "as-user-extra"), names(values, key)]),
    ),
  };
}

const hasPem = (fields: Readonly<JsonObject>, key: string): boolean =>
  (nonEmpty(fields[`${key}-data`]) ?? nonEmpty(fields[key])) !== undefined;

/** The credentials of a user. A token file is read for each request. */
export function credentialsOf(user: KubeconfigEntry): Pick<HttpsTransportOptions, "bearerToken" | "clientCertificate"> {
  const certificate = pemOf(user, "client-certificate");
  const key = pemOf(user, "client-key");
  const token = nonEmpty(user.fields["token"]);
  const tokenFile = nonEmpty(user.fields["tokenFile"]);
  return {
    ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
    ...(tokenFile !== undefined
      ? { bearerToken: () => checkedToken(readNamedFile(tokenFile, user.path), user.path) }
      : token !== undefined && { bearerToken: () => checkedToken(token, user.path) }),
  };
}

function checkedToken(given: string, kubeconfig: string): string {
  const token = given.trim();
  if (isTokenText(token)) return token;
  throw new KubeconfigError(`kubeconfig ${kubeconfig}: the user's token is empty, or has spaces or line breaks`);
}
