import { messageOf } from "../../machinery/api/thrown-error.ts";
import { keyNameOfUri } from "../../machinery/pkcs11/pkcs11-uri.ts";
import type { PublicKeyInfo } from "../../pki/keys/public-key.ts";
import type { ServerConfig } from "../settings/server-config.ts";
import { certificatesInFile } from "./certificates-in-file.ts";
import { bad, good } from "./finding.ts";
import type { Finding } from "./finding.ts";
import type { KeyInToken } from "./named-files.ts";
import { counted } from "../../machinery/command-line/output/counted.ts";

/**
 * Whether keys outside this process can be used now: signs a line with each key in a token, verifies that with the key's certificate, and asks
 * an external signer for its keys.
 */
export async function examineOutsideKeys(
  { accounts: { signingKey } }: Pick<ServerConfig, "accounts">,
  keysInTokens: readonly KeyInToken[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  // One after the other, so that once a token has refused the PIN, its other keys do not try that PIN again.
  for (const key of keysInTokens) findings.push(await examineKeyInToken(key));
  if ("externalSigner" in signingKey) findings.push(await examineExternalSigner(signingKey.externalSigner));
  return findings;
}

const subject = "outside keys";

async function examineKeyInToken({ uri, certificateFile }: KeyInToken): Promise<Finding> {
  const name = keyNameOfUri(uri);
  try {
    const { Pkcs11Key } = await import("../../machinery/pkcs11/pkcs11-key.ts");
    await Pkcs11Key.probe(uri, { publicKey: publicKeyIn(certificateFile) });
    return good(subject, `${name} signs`);
  } catch (error) {
    return bad(subject, {
      found: `${name} can't be used: ${messageOf(error)}`,
      advice: "put the token in, or correct its PIN file or the setting",
    });
  }
}

/** The key of the first certificate in a file. Undefined for a file that can't be used, which `examineCertificates` reports. */
function publicKeyIn(certificateFile: string | undefined): PublicKeyInfo | undefined {
  if (certificateFile === undefined) return undefined;
  try {
    return certificatesInFile(certificateFile)[0]?.publicKey;
  } catch {
    return undefined;
  }
}

async function examineExternalSigner(socket: string): Promise<Finding> {
  const { externalSignerClient } =
    await import("../../features/accounts/keys/external-signer/external-signer-client.ts");
  const client = externalSignerClient(socket);
  try {
    const { keys } = await client.fetchKeys();
    return good(subject, `the external signer at ${socket} publishes ${counted(keys.length, "key")}`);
  } catch (error) {
    return bad(subject, {
      found: `the external signer at ${socket} does not answer: ${messageOf(error)}`,
      advice: "start it, or look at its log",
    });
  } finally {
    client.close();
  }
}
