import type { KeyObject } from "node:crypto";
import { encodeBitString, encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { DerReader, tags } from "../../../src/pki/der/der.ts";
import { decodePemBlocks, encodePem } from "../../../src/pki/pem.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";
import { signData, signatureSchemeOf } from "../../../src/pki/keys/sign.ts";
import type { SeededRandom } from "../../reliability/seeded-random.ts";
import { mutateBytes } from "./mutate-bytes.ts";

/**
 * A changed PEM text: its armour, its DER, or what is signed in it, with a good signature again (what an attacker can
 * always do with a request, and here with certificates of a CA that the fuzzer holds).
 */
export function mutatePem(
  pem: string,
  { random, key }: { readonly random: SeededRandom; readonly key: KeyObject },
): string {
  const [block] = decodePemBlocks(pem);
  if (block === undefined) return mutateBytes(Buffer.from(pem), random).toString("latin1");
  switch (random.integer(0, 6)) {
    case 0:
      return mutateBytes(Buffer.from(pem), random).toString("latin1");
    case 1:
      return encodePem(block.type, mutateBytes(block.bytes, random));
    case 2:
      return pem + pem;
    case 3:
      return pem.replace("\n", random.pick(["\nProc-Type: 4,ENCRYPTED\n\n", "\r\n", "\n\n", " \n", "\nX: y\n"]));
    case 4:
      return encodePem(
        random.pick(["CERTIFICATE", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "X"]),
        block.bytes,
      );
    default:
      return encodePem(block.type, signedAgain(block.bytes, { random, key }));
  }
}

/** Changes the signed part and signs it again. If the DER is no SEQUENCE that begins with a signed part, only changes it. */
export function signedAgain(
  der: Buffer,
  { random, key }: { readonly random: SeededRandom; readonly key: KeyObject },
): Buffer {
  let signed: Buffer;
  try {
    signed = new DerReader(new DerReader(der).read(tags.sequence, "")).readElement().bytes;
  } catch (error) {
    if (error instanceof PkiError) return mutateBytes(der, random);
    throw error;
  }
  const changed = mutateBytes(signed, random);
  return encodeSequence(changed, signatureSchemeOf(key).algorithmIdentifier, encodeBitString(signData(changed, key)));
}
