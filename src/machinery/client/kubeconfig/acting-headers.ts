import { headerOctets } from "../../api/header-text.ts";

/** Whom a client acts as, which needs the permission to impersonate. */
export interface ActingUser {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The headers that say it with every request. */
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

/** Servers decode it. `encodeURIComponent` leaves brackets, which no header's name may have. */
const headerName = (key: string): string =>
  encodeURIComponent(key).replace(/[()]/g, (bracket) => `%${bracket.charCodeAt(0).toString(16)}`);
