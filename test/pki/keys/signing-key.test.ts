import { generatePrivateKey } from "../../../src/pki/keys/keys.ts";
import { keyInProcess } from "../../../src/pki/keys/signing-key.ts";
import { testSigningKey } from "./signing-key-contract.ts";

for (const type of ["ECDSA P-256", "ECDSA P-384", "ECDSA P-521", "RSA 2048", "Ed25519"] as const) {
  testSigningKey(`of type ${type} in this process`, () => keyInProcess(generatePrivateKey(type)));
}
