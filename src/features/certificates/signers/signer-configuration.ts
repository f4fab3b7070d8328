import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings/settings-files.ts";
import type { FollowedFiles } from "../../../machinery/files/followed/followed-files.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import { isSelfIssued } from "../../../pki/certificates/authority-path.ts";
import type { Certificate } from "../../../pki/certificates/certificate.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import type { GeneratedAuthorities } from "../authorities/generated-authorities.ts";
import { openSigningAuthority } from "../authorities/signing-authority-files.ts";
import type { SigningAuthorityFilesOptions } from "../authorities/signing-authority-files.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { configuredSignerRules } from "./configured-signer.ts";
import type { AuthoritySource, SignerLifetime, SignerSpecification } from "./configured-signer.ts";
import { parseSignerConfiguration } from "./parse-signer-configuration.ts";
import { isTrustedThrough } from "./server-identity.ts";
import type { SignerRules } from "./signer.ts";

const flag = "signer-config";
const none: readonly ConfiguredSigner[] = [];

/** A custom signer with its current CA. */
export interface ConfiguredSigner extends SignerRules {
  readonly name: string;
  readonly lifetime: SignerLifetime;
  /** The URL in certificates instead of `--revocation-url`. Empty: certificates name no revocation URLs. */
  readonly revocationUrl: string | undefined;
  /** The signer's CA, generated if needed. Undefined: the API server now trusts the CA for client certificates, or may, so the CA must not sign. */
  authority(): SigningAuthority | undefined;
  /** The signer's CA as `authority` returns it, but without generating it. Undefined also when the CA does not exist yet. */
  existingAuthority(): SigningAuthority | undefined;
}

/** Whether CAs may be generated in the data directory. If not, with a reason for the operator. */
type MayGenerate =
  | { readonly type: "allowed"; readonly authorities: GeneratedAuthorities }
  | { readonly type: "refused"; readonly reason: string };

export interface SignerConfigurationOptions extends SigningAuthorityFilesOptions {
  /** Undefined: there are no custom signers. */
  readonly file: string | undefined;
  readonly generated: MayGenerate;
  /** The known CAs that the API server trusts for client certificates. Undefined: no CA is known to be untrusted. */
  readonly clientAuthorities: () => readonly Certificate[] | undefined;
}

/**
 * Returns the current signers of `--signer-config`: the same list until the file changes. Throws UsageError for a file
 * that is invalid at the start. When it becomes invalid later, the previous signers stay.
 */
export function openSignerConfiguration(options: SignerConfigurationOptions): () => readonly ConfiguredSigner[] {
  const { file, followed } = options;
  if (file === undefined) return () => none;
  let authorities: FollowedFiles | undefined;
  return followed.follow({
    setting: flag,
    files: () => [file],
    load() {
      using opening = new DisposableStack();
      const next = opening.adopt(followed.group(), (group) => group.stop());
      const specifications = parseSettingsFile({ flag, file, read: readFollowedFile }, (text) =>
        parseSignerConfiguration(text, file),
      );
      const signers = specifications.map((one, index) =>
        openSigner(one, { ...options, followed: next, path: `signers[${index}]` }),
      );
      opening.move();
      authorities?.stop();
      authorities = next;
      return signers;
    },
    describe: (signers) => ({ signers: signers.map(({ name }) => name) }),
  });
}

type SignerContext = SignerConfigurationOptions & { readonly path: string };

function openSigner(specification: SignerSpecification, context: SignerContext): ConfiguredSigner {
  const { name, lifetime, usages, certificateAuthority, revocationUrl } = specification;
  const path = `${context.path}.certificateAuthority`;
  const open = openAuthority(certificateAuthority, { ...context, path, signerName: name });
  const isRefused = (authority: SigningAuthority): boolean => {
    if (!usages.includes("client auth")) return false;
    const trusted = context.clientAuthorities();
    return trusted === undefined || !hasRoot(authority) || isTrustedThrough(authority, trusted);
  };
  if (!open.isNew && isRefused(open.authority())) {
    throw new UsageError(
      `--${flag}: ${path}: the API server trusts this CA for client certificates, or may trust it because its file does not contain the root: ` +
        'give the signer a separate CA with its chain up to the root, or remove "client auth" from its usages',
    );
  }
  const authority = (): SigningAuthority | undefined => {
    const opened = open.authority();
    return isRefused(opened) ? undefined : opened;
  };
  return {
    name,
    lifetime,
    revocationUrl,
    ...configuredSignerRules(specification),
    authority,
    existingAuthority: () => (open.exists() ? authority() : undefined),
  };
}

/** Whether the root of a CA is known. If not, the API server may trust a CA above the known ones. */
const hasRoot = ({ path }: SigningAuthority): boolean => {
  const top = path.at(-1);
  return top !== undefined && isSelfIssued(top);
};

interface OpenAuthority {
  /** Whether the CA does not exist yet and is generated on first use. */
  readonly isNew: boolean;
  exists(): boolean;
  authority(): SigningAuthority;
}

function openAuthority(
  source: AuthoritySource,
  { path, signerName, generated, clock, followed, observer }: SignerContext & { readonly signerName: string },
): OpenAuthority {
  if (source.type === "files") {
    const { certificateFile, keyFile } = source;
    const label = `${flag}: ${path}`;
    const files = {
      certificateFlag: `${label}.certificateFile`,
      certificateFile,
      keyFlag: `${label}.keyFile`,
      keyFile,
    };
    return { isNew: false, exists: () => true, authority: openSigningAuthority(files, { followed, clock, observer }) };
  }
  if (generated.type === "refused") throw new UsageError(`--${flag}: ${path}.generate: ${generated.reason}`);
  const { authorities } = generated;
  const { commonName, lifetimeMilliseconds } = source;
  const authority = (): SigningAuthority => authorities.of({ signerName, commonName, lifetimeMilliseconds }).current();
  // Only the process that runs the controllers generates the CA.
  const exists = (): boolean => authorities.has(signerName);
  const isNew = !exists();
  if (!isNew) {
    try {
      authority();
    } catch (error) {
      if (!(error instanceof PkiError || error instanceof UnusableFile)) throw error;
      throw new UsageError(`--${flag}: ${path}.generate: ${error.message}`, { cause: error });
    }
  }
  return { isNew, exists, authority };
}
