import { keyPair } from "../../src/agent/certificates/key-pair.ts";
import type { KeyPair } from "../../src/agent/certificates/key-pair.ts";
import { wantedClientCertificate } from "../../src/agent/certificates/wanted-certificate.ts";
import { platformNames } from "../../src/machinery/api/names.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../src/pki/keys/keys.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { certificateFor } from "./issued-certificate.ts";
import type { Validity } from "./issued-certificate.ts";

/** A node's client certificate with its key, from a signer that no server knows. */
export function newPair(validity: Validity = { notBefore: 0, notAfter: Date.UTC(2039, 0) }, nodeName = "n1"): KeyPair {
  const privateKey = generatePrivateKey("ECDSA P-256");
  const wanted = wantedClientCertificate(platformNames, nodeName);
  const { der } = certificateFor(wanted, { ...validity, publicKey: publicKeyInfoOf(privateKey) });
  return keyPair({ keyPem: encodePrivateKeyPem(privateKey), certificatePem: encodePem("CERTIFICATE", der) });
}
