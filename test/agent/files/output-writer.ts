import { join } from "node:path";
import type { CertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import { writeCertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import { newPair } from "../new-pair.ts";

/** One output of each kind of PEM, below a folder. */
export const outputsIn = (folder: string): readonly CertificateOutput[] => [
  { type: "pem", file: join(folder, "web.pem"), ownership: { mode: 0o600 } },
  {
    type: "folder",
    folder: join(folder, "tls"),
    names: { key: "tls.key", certificate: "tls.crt" },
    ownership: { mode: 0o600 },
  },
];

// As a process: writes one pair after the other, until it is killed.
const folder = process.argv[2];
if (import.meta.main && folder !== undefined) {
  const pairs = Array.from({ length: 8 }, () => newPair());
  console.log("writes");
  for (let round = 0; ; round++) {
    const pair = pairs[round % pairs.length] ?? newPair();
    for (const output of outputsIn(folder)) writeCertificateOutput(output, pair);
  }
}
