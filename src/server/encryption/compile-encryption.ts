import { andThen } from "../../machinery/api/maybe-promise.ts";
import { aesGcm, derivedAesGcm } from "../../machinery/storage/encryption/aes-gcm.ts";
import type { NamedKey } from "../../machinery/storage/encryption/aes-gcm.ts";
import { EncryptionRules } from "../../machinery/storage/encryption/encryption-rules.ts";
import { identity } from "../../machinery/storage/encryption/value-transformer.ts";
import type { ValueTransformer } from "../../machinery/storage/encryption/value-transformer.ts";
import { entriesByPrefix } from "./encrypted-resources.ts";
import type { ServedNames } from "./encrypted-resources.ts";
import type { EncryptedResources, KmsProvider, Provider } from "./encryption-configuration.ts";

interface CompileOptions extends ServedNames {
  /** Keys of the data directory's file. They only decrypt values that were written with them earlier. */
  readonly readingKeys: readonly NamedKey[];
  openKms(provider: KmsProvider): ValueTransformer;
}

interface CompiledEncryption {
  readonly rules: EncryptionRules;
  /** Resources in the file that this server does not have. */
  readonly unknown: readonly string[];
}

/** The rules of a configuration file. */
export function compileEncryption(
  entries: readonly EncryptedResources[],
  { readingKeys, openKms, ...served }: CompileOptions,
): CompiledEncryption {
  const { byPrefix, unknown } = entriesByPrefix(entries, served);
  const compiled = new Map(
    entries.map((entry) => [entry, entry.providers.flatMap((provider) => transformersOf(provider, openKms))]),
  );
  const rules = [...byPrefix].map(([prefix, chosen]) => ({
    prefix,
    transformers: chosen.flatMap((entry) => compiled.get(entry) ?? []),
  }));
  return { rules: new EncryptionRules({ rules, readers: readingKeys.map(derivedAesGcm) }), unknown };
}

/**
 * The rules without a configuration file: Secrets are encrypted with the first of `keys`, and plain Secrets can be read. `readingKeys` only
 * decrypt.
 */
export const secretsRules = (keys: readonly NamedKey[], readingKeys: readonly NamedKey[]): EncryptionRules =>
  new EncryptionRules({
    rules: [{ prefix: secretsPrefix, transformers: [...keys.map(derivedAesGcm), identity] }],
    readers: readingKeys.map(derivedAesGcm),
  });

/** Where the store keeps Secrets, including bootstrap tokens. */
export const secretsPrefix = "/registry/secrets/";

function transformersOf(provider: Provider, openKms: CompileOptions["openKms"]): ValueTransformer[] {
  switch (provider.type) {
    case "identity":
      return [identity];
    case "aesgcm":
      return provider.keys.map(aesGcm);
    case "aesgcmderived":
      return provider.keys.map(derivedAesGcm);
    case "aescbc":
      return provider.keys.map((key) =>
        onFirstUse(`k8s:enc:aescbc:v1:${key.name}:`, async () =>
          (await import("../../machinery/storage/encryption/aes-cbc.ts")).aesCbc(key),
        ),
      );
    case "secretbox":
      return provider.keys.map((key) =>
        onFirstUse(`k8s:enc:secretbox:v1:${key.name}:`, async () =>
          (await import("../../machinery/storage/encryption/secretbox.ts")).secretbox(key),
        ),
      );
    case "kms":
      return [openKms(provider)];
  }
}

/** A transformer whose code is loaded at its first use. */
function onFirstUse(prefix: string, load: () => Promise<ValueTransformer>): ValueTransformer {
  let loaded: ValueTransformer | Promise<ValueTransformer> | undefined;
  const use = (): ValueTransformer | Promise<ValueTransformer> =>
    (loaded ??= load().then((transformer) => (loaded = transformer)));
  return {
    prefix,
    encrypt: (plain, storageKey) => andThen(use(), (one) => one.encrypt(plain, storageKey)),
    decrypt: (stored, storageKey) => andThen(use(), (one) => one.decrypt(stored, storageKey)),
  };
}
