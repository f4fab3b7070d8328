import { Option } from "commander";
import type { KeyType } from "../../pki/keys.ts";
import { UsageError } from "./flag.ts";

const keyTypes: ReadonlyMap<string, KeyType> = new Map([
  ["ecdsa-p256", "ECDSA P-256"],
  ["ecdsa-p384", "ECDSA P-384"],
  ["rsa-2048", "RSA 2048"],
  ["rsa-4096", "RSA 4096"],
  ["ed25519", "Ed25519"],
]);

/** `--key-type`. Its value is a KeyType. */
export const keyTypeOption = (): Option => {
  const names = [...keyTypes.keys()];
  return new Option("--key-type <type>", "the type of a new key")
    .choices(names)
    .argParser((text): KeyType => {
      const type = keyTypes.get(text);
      if (type !== undefined) return type;
      throw new UsageError(`--key-type: ${JSON.stringify(text)} is not one of ${names.join(", ")}`);
    })
    .default("ECDSA P-256" satisfies KeyType, "ecdsa-p256");
};
