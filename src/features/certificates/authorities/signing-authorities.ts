import { millisecondsSince } from "../../../machinery/api/clock.ts";
import { join } from "node:path";
import { OutageReport } from "../../../machinery/logging/outage-report.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { CertificateSettings } from "../settings.ts";
import { fingerprintOf } from "../../../pki/certificates/certificate.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import type { SigningAuthority } from "./signing-authority.ts";
import { ownSignerName } from "../signer-names.ts";
import { wellKnownSigners } from "../signers/well-known-signers.ts";
import type { SignerShortName } from "../signers/well-known-signers.ts";
import type { DataDirectoryAuthorities } from "./data-directory-authorities.ts";
import { ReplacedAuthorities } from "./replaced-authorities.ts";
import { openSigningAuthority } from "./signing-authority-files.ts";
import type { SigningAuthorityFilesOptions } from "./signing-authority-files.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** Returns the CA of a signer from the current files. The signer's name may be in either spelling. Undefined for a signer without a CA. */
export type AuthorityFor = (signerName: string) => SigningAuthority | undefined;

interface OpenAuthoritiesOptions extends SigningAuthorityFilesOptions {
  readonly names: Names;
  readonly settings: CertificateSettings;
  /** The CA of a signer without files. Default: none. */
  readonly fallback?: (shortName: SignerShortName) => () => SigningAuthority | undefined;
}

/**
 * Opens the CAs that sign requests: from a signer's own files, else from the files for all signers, else from
 * `fallback`. Throws UsageError for files that cannot be used.
 */
export function openAuthorities({
  names,
  settings,
  fallback = () => () => undefined,
  ...reading
}: OpenAuthoritiesOptions): AuthorityFor {
  const common = settings.authority && openSigningAuthority(settings.authority, reading);
  const bySigner = new Map(
    wellKnownSigners.map(({ shortName, nameIn }) => {
      const files = settings.authorityOf[shortName];
      const other = fallback(shortName);
      return [nameIn(names), files === undefined ? (common ?? other) : openSigningAuthority(files, reading)];
    }),
  );
  return (signerName) => bySigner.get(ownSignerName(names, signerName))?.();
}

const clientAuthenticating = wellKnownSigners.filter(({ isClientAuthenticating }) => isClientAuthenticating);

/** The names of the signers whose certificates authenticate at the API server. */
export const clientSigners = (names: Names): readonly string[] =>
  clientAuthenticating.map(({ nameIn }) => nameIn(names));

const distinct = (certificates: readonly Certificate[]): Certificate[] =>
  certificates.filter((one, index) => certificates.findIndex(({ der }) => der.equals(one.der)) === index);

/** A server's signing CAs, and the CAs of client certificates that it trusts because of them. */
export interface SigningAuthorities {
  readonly authorityFor: AuthorityFor;
  /** The trusted CAs of client certificates: the signing CAs, and replaced CAs whose certificates may still be valid. */
  clientAuthorities(): readonly Certificate[];
}

/** The file of replaced CAs of client certificates. */
export const replacedAuthoritiesFile = (dataDirectory: string): string =>
  join(dataDirectory, "client-authorities.json");

/** How often requests with a client certificate check the CA files for changes. */
const pollMilliseconds = 1000;

interface OpenSigningAuthoritiesOptions extends SigningAuthorityFilesOptions {
  readonly settings: CertificateSettings;
  readonly dataDirectory: string;
  readonly names: Names;
  /** The CAs of the data directory, which sign when no files are configured. */
  readonly own: DataDirectoryAuthorities["ofSigner"];
  readonly log: Pick<Log, "info" | "error">;
}

export function openSigningAuthorities(options: OpenSigningAuthoritiesOptions): SigningAuthorities {
  const { names, clock, own } = options;
  const fallback = (shortName: SignerShortName) => () => own[shortName].current();
  const authorities = openAuthorities({ ...options, fallback });
  const replaced = openReplacedAuthorities(options);
  const clientSignerNames = clientSigners(names);
  const ownClientAuthorities = clientAuthenticating.map(({ nameIn, shortName }) => ({
    signerName: nameIn(names),
    own: own[shortName],
  }));
  /** A prepared CA is trusted before it signs here: another replica may be the first to sign with it. */
  const ownAnchors = (): readonly Certificate[] =>
    ownClientAuthorities.flatMap(({ signerName, own: followed }) => {
      const authority = followed.current();
      return authorities(signerName) === authority ? authority.anchors : [];
    });
  const isRetired = (certificate: Certificate): boolean =>
    ownClientAuthorities.some(({ own: followed }) => followed.isRetired(certificate));
  let refreshed: { readonly at: number; readonly certificates: readonly Certificate[] } | undefined;
  const refresh = (): readonly Certificate[] => {
    const current = distinct(clientSignerNames.flatMap((name) => authorities(name)?.certificate ?? []));
    replaced.observe(current);
    const trusted = [...current, ...ownAnchors(), ...replaced.certificates()];
    refreshed = { at: clock.now(), certificates: distinct(trusted).filter((one) => !isRetired(one)) };
    return refreshed.certificates;
  };
  refresh();
  return {
    authorityFor(signerName) {
      const authority = authorities(signerName);
      // A client may use a certificate of a new CA immediately.
      const isKnown = authority === undefined || refreshed?.certificates.includes(authority.certificate) === true;
      if (!isKnown && clientSignerNames.includes(ownSignerName(names, signerName))) refresh();
      return authority;
    },
    clientAuthorities: () =>
      refreshed !== undefined && millisecondsSince(refreshed.at, clock) < pollMilliseconds
        ? refreshed.certificates
        : refresh(),
  };
}

/** The replaced CAs of client certificates that the data directory has. Logs each replacement. */
function openReplacedAuthorities({
  settings,
  dataDirectory,
  clock,
  log,
}: OpenSigningAuthoritiesOptions): ReplacedAuthorities {
  const file = replacedAuthoritiesFile(dataDirectory);
  return new ReplacedAuthorities({
    file,
    writing: new OutageReport({
      onFailure: (reason) => log.error({ file, reason }, "the CAs of client certificates are known only in memory"),
      onRecovery: () => log.info({ file }, "the CAs of client certificates are written down again"),
    }),
    clock,
    overlapMilliseconds: settings.maximumLifetimeMilliseconds,
    onReplaced: (current) =>
      log.info(
        { fingerprints: current.map((certificate) => fingerprintOf(certificate)) },
        "the CAs of client certificates were replaced; certificates of the old ones stay valid until they expire",
      ),
  });
}
