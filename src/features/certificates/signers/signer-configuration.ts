import { existsSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Clock } from "../../../machinery/api/clock.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { parseSettingsFile, readFollowedFile } from "../../../machinery/command-line/settings-files.ts";
import { followFiles } from "../../../machinery/files/followed-files.ts";
import { UnusableFile } from "../../../machinery/files/unusable-file.ts";
import type { Certificate } from "../../../pki/certificate.ts";
import { PkiError } from "../../../pki/pki-error.ts";
import { openClusterAuthority } from "../authorities/cluster-authority.ts";
import { openSigningAuthority } from "../authorities/signing-authority-files.ts";
import { rootSigningAuthority } from "../authorities/signing-authority.ts";
import type { SigningAuthority } from "../authorities/signing-authority.ts";
import { configuredSignerRules } from "./configured-signer.ts";
import type { AuthoritySource, SignerLifetime, SignerSpecification } from "./configured-signer.ts";
import { parseSignerConfiguration } from "./parse-signer-configuration.ts";
import { isTrustedThrough } from "./server-identity.ts";
import type { SignerRules } from "./signer.ts";

const flag = "signer-config";
const none: readonly ConfiguredSigner[] = [];

/** A signer of the operator's own, with its CA as the files are now. */
export interface ConfiguredSigner extends SignerRules {
  readonly name: string;
  readonly lifetime: SignerLifetime;
  /** Undefined: the CA has become one whose client certificates authenticate, and signs nothing. */
  authority(): SigningAuthority | undefined;
}

/** Where CAs are made: in the data directory, or nowhere, for a reason that the operator is told. */
type GeneratedAuthorities =
  { readonly type: "allowed"; readonly dataDirectory: string } | { readonly type: "refused"; readonly reason: string };

export interface SignerConfigurationOptions {
  /** Undefined: there are no such signers. */
  readonly file: string | undefined;
  readonly generated: GeneratedAuthorities;
  /** The CAs whose client certificates the API server believes, as far as they are known here. */
  readonly clientAuthorities: () => readonly Certificate[];
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "error">;
}

/**
 * The signers of `--signer-config` as the file is now: the same list until it changes. Throws UsageError for a file that
 * cannot be used at the start; one that is broken later leaves the signers from before in place, and is logged once.
 */
export function openSignerConfiguration(options: SignerConfigurationOptions): () => readonly ConfiguredSigner[] {
  const { file, log } = options;
  if (file === undefined) return () => none;
  let isOpen = false;
  const current = followFiles({
    files: [file],
    load() {
      const specifications = parseSettingsFile(flag, file, (text) => specificationsOf(text, file), readFollowedFile);
      const signers = specifications.map((one, index) => openSigner(one, { ...options, path: `signers[${index}]` }));
      if (isOpen)
        log.info({ file, signers: signers.map(({ name }) => name) }, "the signer configuration was read again");
      isOpen = true;
      return signers;
    },
    onFailure: (error) =>
      log.error(
        { file, error: error instanceof Error ? error.message : String(error) },
        "the signer configuration cannot be used; the signers from before stay as they are",
      ),
  });
  return current;
}

function specificationsOf(text: string, file: string): readonly SignerSpecification[] {
  const parsed = parseSignerConfiguration(text, file);
  if (!parsed.isValid) throw new Error(parsed.faults.join("; "));
  return parsed.signers;
}

type SignerContext = SignerConfigurationOptions & { readonly path: string };

function openSigner(specification: SignerSpecification, context: SignerContext): ConfiguredSigner {
  const { name, lifetime, usages, certificateAuthority } = specification;
  const path = `${context.path}.certificateAuthority`;
  const open = openAuthority(certificateAuthority, { ...context, path, signerName: name });
  const isRefused = (authority: SigningAuthority): boolean =>
    usages.includes("client auth") && (!hasRoot(authority) || isTrustedThrough(authority, context.clientAuthorities()));
  if (!open.isNew && isRefused(open.authority())) {
    throw new UsageError(
      `--${flag}: ${path}: client certificates of this CA authenticate at the API server, or may, where its file does not hold the root: ` +
        'give the signer a CA of its own with its chain up to the root, or take "client auth" out of its usages',
    );
  }
  return {
    name,
    lifetime,
    ...configuredSignerRules(specification),
    authority() {
      const authority = open.authority();
      return isRefused(authority) ? undefined : authority;
    },
  };
}

/** Above a CA whose root is not known, there may be one that the API server believes. */
const hasRoot = ({ path }: SigningAuthority): boolean => {
  const top = path.at(-1);
  return top?.rawIssuer.equals(top.rawSubject) === true;
};

interface OpenAuthority {
  /** Whether it has not been made yet: the first use does. */
  readonly isNew: boolean;
  authority(): SigningAuthority;
}

function openAuthority(
  source: AuthoritySource,
  { path, signerName, generated, clock }: SignerContext & { readonly signerName: string },
): OpenAuthority {
  if (source.type === "files") {
    const { certificateFile, keyFile } = source;
    const label = `${flag}: ${path}`;
    const authority = openSigningAuthority({
      certificateFlag: `${label}.certificateFile`,
      certificateFile,
      keyFlag: `${label}.keyFile`,
      keyFile,
    });
    return { isNew: false, authority };
  }
  if (generated.type === "refused") throw new UsageError(`--${flag}: ${path}.generate: ${generated.reason}`);
  const folder = join(generated.dataDirectory, "signers");
  const baseName = signerName.replaceAll("/", ":");
  const { commonName, lifetimeMilliseconds } = source;
  let opened: SigningAuthority | undefined;
  const authority = (): SigningAuthority => {
    if (opened !== undefined) return opened;
    makePrivateFolder(folder);
    const own = openClusterAuthority({ dataDirectory: folder, clock, baseName, commonName, lifetimeMilliseconds });
    return (opened = rootSigningAuthority(own));
  };
  // One process alone makes it: the one whose loops run.
  const isNew = !existsSync(join(folder, `${baseName}.crt`));
  if (!isNew) {
    try {
      authority();
    } catch (error) {
      if (!(error instanceof PkiError || error instanceof UnusableFile)) throw error;
      throw new UsageError(`--${flag}: ${path}.generate: ${error.message}`, { cause: error });
    }
  }
  return { isNew, authority };
}

function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A link could lead the keys elsewhere.
  if (!lstatSync(folder).isDirectory()) throw new UnusableFile(`${folder} is not a folder: remove it`);
}
