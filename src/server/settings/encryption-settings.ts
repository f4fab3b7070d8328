import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags } from "../../machinery/command-line/settings/flag.ts";

export const encryptionFlags = {
  "encryption-provider-config": {
    type: "file",
    help:
      "EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted in the store, and how. Instead of " +
      "--encryption-key-file.",
  },
  "encryption-provider-config-automatic-reload": {
    type: "boolean",
    default: false,
    help: "Read that file again when it changes. A wrong one changes nothing, and the log says why.",
  },
  "encryption-key-file": {
    type: "file",
    help:
      "File with the keys that Secrets are encrypted with: one line of base64 each, the first one writes. Default: " +
      "encryption.key in the data directory, made at the first start; with etcd, Secrets are not encrypted by default.",
  },
} as const satisfies Flags;

/** How the store is encrypted. */
export interface EncryptionSettings {
  /** The file of an EncryptionConfiguration. Undefined: Secrets are encrypted, with the keys of the key file. */
  readonly configuration: { readonly file: string; readonly isFollowed: boolean } | undefined;
  /** The key file. Undefined: the file in the data directory. */
  readonly keyFile: string | undefined;
}

/** Throws UsageError for flags that do not go together. */
export function encryptionSettings(values: FlagValues<typeof encryptionFlags>): EncryptionSettings {
  const file = values["encryption-provider-config"];
  const keyFile = values["encryption-key-file"];
  const isFollowed = values["encryption-provider-config-automatic-reload"];
  if (file === undefined && isFollowed) {
    throw new UsageError(
      "--encryption-provider-config-automatic-reload: name the file with --encryption-provider-config",
    );
  }
  if (file !== undefined && keyFile !== undefined) {
    throw new UsageError(
      "--encryption-provider-config and --encryption-key-file: give one of them; the configuration can have the key as " +
        "a provider aesgcmderived",
    );
  }
  return { configuration: file === undefined ? undefined : { file, isFollowed }, keyFile };
}

/** An action of `signet encryption`. */
export type EncryptionAction =
  | { readonly type: "status" | "rewrite" | "rotate" | "retire" }
  /** `key` is the key of the object in the store. */
  | { readonly type: "discard"; readonly key: string };
