/** A certificate with its private key, both PEM. The rest of its chain may follow the certificate. */
export interface PemKeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Splits a text with a private key and then its certificates. Undefined: the text has another form. */
export function splitKeyPair(text: string): PemKeyPair | undefined {
  const certificateAt = text.indexOf("-----BEGIN CERTIFICATE-----");
  if (certificateAt <= 0) return undefined;
  return { key: text.slice(0, certificateAt), certificate: text.slice(certificateAt) };
}
