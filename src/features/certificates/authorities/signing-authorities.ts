import { join } from "node:path";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateSettings } from "../settings.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import { rootSigningAuthority } from "./signing-authority.ts";
import { wellKnownSigners } from "../signers/well-known-signers.ts";
import type { SignerShortName } from "../signers/well-known-signers.ts";
import type { ClusterAuthorities } from "./cluster-authorities.ts";
import { RetiredAuthorities } from "./retired-authorities.ts";
import { openSigningAuthority } from "./signing-authority-files.ts";

/** The CA of a signer as its files are now; undefined where there is none for it. */
export type AuthorityFor = (signerName: string) => SigningAuthority | undefined;

/**
 * The CAs that sign requests: a signer's own files, else those for all signers, else what `fallback` has. Throws UsageError for
 * files that can't be used.
 */
export function openAuthorities(
  names: Names,
  settings: CertificateSettings,
  fallback: (shortName: SignerShortName) => SigningAuthority | undefined = () => undefined,
): AuthorityFor {
  const common = settings.authority && openSigningAuthority(settings.authority);
  const bySigner = new Map(
    wellKnownSigners.map(({ shortName, nameIn }) => {
      const files = settings.authorityOf[shortName];
      const other = fallback(shortName);
      return [nameIn(names), files === undefined ? (common ?? (() => other)) : openSigningAuthority(files)];
    }),
  );
  return (signerName) => bySigner.get(signerName)?.();
}

/** The names of the signers whose certificates authenticate at the API server. */
export const clientSigners = (names: Names): readonly string[] =>
  wellKnownSigners.filter(({ isClientAuthenticating }) => isClientAuthenticating).map((signer) => signer.nameIn(names));

/** A server's signing CAs, and whom it believes because of them. */
export interface SigningAuthorities {
  readonly authorityFor: AuthorityFor;
  /** The CAs of client certificates: those that sign them now, and the retired ones whose certificates may still live. */
  clientAuthorities(): readonly Certificate[];
}

/** How often requests with a client certificate look at the CAs' files. */
const lookMilliseconds = 1000;

export interface ServerAuthorityOptions {
  readonly settings: CertificateSettings;
  readonly dataDirectory: string;
  readonly names: Names;
  readonly clock: Clock;
  /** The data directory's CAs, which sign where no files are given. */
  readonly own: ClusterAuthorities["ofSigner"];
}

export function openSigningAuthorities(options: ServerAuthorityOptions): SigningAuthorities {
  const { settings, dataDirectory, names, clock, own } = options;
  const authorities = openAuthorities(names, settings, (shortName) => rootSigningAuthority(own[shortName]));
  const retired = new RetiredAuthorities({
    file: join(dataDirectory, "client-authorities.json"),
    clock,
    overlapMilliseconds: settings.maximumLifetimeMilliseconds,
  });
  const clientSignerNames = clientSigners(names);
  let looked: { readonly at: number; readonly certificates: readonly Certificate[] } | undefined;
  const look = (): readonly Certificate[] => {
    const signing = clientSignerNames.flatMap((name) => authorities(name)?.certificate ?? []);
    const current = signing.filter((one, index) => signing.findIndex(({ der }) => der.equals(one.der)) === index);
    retired.observe(current);
    looked = { at: clock.now(), certificates: [...current, ...retired.certificates()] };
    return looked.certificates;
  };
  look();
  return {
    authorityFor(signerName) {
      const authority = authorities(signerName);
      // Who gets a certificate of a new CA may come back with it at once.
      const isKnown = authority === undefined || looked?.certificates.includes(authority.certificate) === true;
      if (!isKnown && clientSignerNames.includes(signerName)) look();
      return authority;
    },
    clientAuthorities: () =>
      looked !== undefined && Math.abs(clock.now() - looked.at) < lookMilliseconds ? looked.certificates : look(),
  };
}
