/** Object identifiers, named as in their RFCs. */
export const oids = {
  // RFC 3279, 4055, 5480, 8410: keys and curves
  rsaEncryption: "1.2.840.113549.1.1.1",
  ecPublicKey: "1.2.840.10045.2.1",
  ed25519: "1.3.101.112",
  p224: "1.3.132.0.33",
  p256: "1.2.840.10045.3.1.7",
  p384: "1.3.132.0.34",
  p521: "1.3.132.0.35",

  // Signatures
  md5WithRsa: "1.2.840.113549.1.1.4",
  sha1WithRsa: "1.2.840.113549.1.1.5",
  isoSha1WithRsa: "1.3.14.3.2.29",
  rsassaPss: "1.2.840.113549.1.1.10",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  sha384WithRsa: "1.2.840.113549.1.1.12",
  sha512WithRsa: "1.2.840.113549.1.1.13",
  ecdsaWithSha1: "1.2.840.10045.4.1",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  ecdsaWithSha384: "1.2.840.10045.4.3.3",
  ecdsaWithSha512: "1.2.840.10045.4.3.4",
  sha1: "1.3.14.3.2.26",
  mgf1: "1.2.840.113549.1.1.8",
  sha256: "2.16.840.1.101.3.4.2.1",
  sha384: "2.16.840.1.101.3.4.2.2",
  sha512: "2.16.840.1.101.3.4.2.3",

  // RFC 5280: extensions
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  nameConstraints: "2.5.29.30",
  crlDistributionPoints: "2.5.29.31",
  certificatePolicies: "2.5.29.32",
  policyMappings: "2.5.29.33",
  authorityKeyIdentifier: "2.5.29.35",
  policyConstraints: "2.5.29.36",
  extendedKeyUsage: "2.5.29.37",
  inhibitAnyPolicy: "2.5.29.54",
  authorityInfoAccess: "1.3.6.1.5.5.7.1.1",
  caIssuers: "1.3.6.1.5.5.7.48.2",

  // RFC 3779 (addresses and networks), and Netscape's own (certificate types)
  ipAddressBlocks: "1.3.6.1.5.5.7.1.7",
  autonomousSystems: "1.3.6.1.5.5.7.1.8",
  netscapeCertificateType: "2.16.840.1.113730.1.1",

  // RFC 5280: revocation lists
  crlNumber: "2.5.29.20",
  crlReason: "2.5.29.21",
  issuingDistributionPoint: "2.5.29.28",

  // RFC 6960
  ocsp: "1.3.6.1.5.5.7.48.1",
  ocspBasic: "1.3.6.1.5.5.7.48.1.1",
  ocspNonce: "1.3.6.1.5.5.7.48.1.2",
  ocspNoCheck: "1.3.6.1.5.5.7.48.1.5",

  // RFC 2985: an e-mail address in a distinguished name, and the attribute of a request that carries extensions
  emailAddress: "1.2.840.113549.1.9.1",
  extensionRequest: "1.2.840.113549.1.9.14",
  microsoftExtensionRequest: "1.3.6.1.4.1.311.2.1.14",
} as const;

/** Types of the attributes of a distinguished name, named as in X.520 and RFC 4519. */
export const attributeTypes = {
  commonName: "2.5.4.3",
  serialNumber: "2.5.4.5",
  countryName: "2.5.4.6",
  localityName: "2.5.4.7",
  stateOrProvinceName: "2.5.4.8",
  streetAddress: "2.5.4.9",
  organizationName: "2.5.4.10",
  organizationalUnitName: "2.5.4.11",
  postalCode: "2.5.4.17",
  uid: "0.9.2342.19200300.100.1.1",
  dc: "0.9.2342.19200300.100.1.25",
} as const;

/** Extended key usages (RFC 5280 4.2.1.12 and vendor-specific ones), named as in Go. */
export const extendedKeyUsages = {
  any: "2.5.29.37.0",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  codeSigning: "1.3.6.1.5.5.7.3.3",
  emailProtection: "1.3.6.1.5.5.7.3.4",
  ipsecEndSystem: "1.3.6.1.5.5.7.3.5",
  ipsecTunnel: "1.3.6.1.5.5.7.3.6",
  ipsecUser: "1.3.6.1.5.5.7.3.7",
  timeStamping: "1.3.6.1.5.5.7.3.8",
  ocspSigning: "1.3.6.1.5.5.7.3.9",
  microsoftServerGatedCrypto: "1.3.6.1.4.1.311.10.3.3",
  netscapeServerGatedCrypto: "2.16.840.1.113730.4.1",
} as const;

export type ExtendedKeyUsageName = keyof typeof extendedKeyUsages;
