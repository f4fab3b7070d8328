import { headerOctets } from "../../api/header-text.ts";

/** The user as whom a client acts. The client needs the permission to impersonate this user. */
export interface ActingUser {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The impersonation headers for every request. */
export const actingHeaders = ({
  user,
  uid,
  groups = [],
  extra = {},
}: ActingUser): Readonly<Record<string, string | readonly string[]>> => ({
  "impersonate-user": headerOctets(user),
  ...(uid !== undefined && { "impersonate-uid": headerOctets(uid) }),
  ...(groups.length > 0 && { "impersonate-group": groups.map(headerOctets) }),
  ...Object.fromEntries(
    Object.entries(extra).map(([key, values]) => [`impersonate-extra-${headerName(key)}`, values.map(headerOctets)]),
  ),
});

/** Encodes a key for a header name; servers decode it. `encodeURIComponent` keeps parentheses, which header names may not have. */
const headerName = (key: string): string =>
  encodeURIComponent(key).replace(/[()]/g, (bracket) => `%${bracket.charCodeAt(0).toString(16)}`);
