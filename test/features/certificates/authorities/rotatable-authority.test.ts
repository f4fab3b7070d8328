import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "../../../../src/machinery/api/clock.ts";
import type { FollowedKeyRecords } from "../../../../src/machinery/keys/key-records.ts";
import { SealingKey } from "../../../../src/machinery/keys/sealing-key.ts";
import { createCertificateAuthority } from "../../../../src/pki/certificates/certificate-authority.ts";
import { encodePrivateKeyPem, generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import {
  newGeneration,
  RotatableAuthority,
} from "../../../../src/features/certificates/authorities/rotatable-authority.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

it("a CA of the store that cannot be used, as without a subject, is named with the command that helps", () => {
  const dataDirectory = temporaryFolder();
  const sealingKey = SealingKey.open(dataDirectory);
  const generation = (commonName: string) => {
    const privateKey = generatePrivateKey("ECDSA P-256");
    const validity = { notBefore: Date.now() - 1000, notAfter: Date.now() + 3_600_000 };
    const authority = createCertificateAuthority({ subject: { commonName }, privateKey, ...validity });
    return { ...newGeneration(authority, { keyPem: encodePrivateKeyPem(privateKey), sealingKey }), since: "" };
  };
  const [named, nameless] = [generation("named"), generation("")];
  const open = (...generations: readonly object[]): RotatableAuthority => {
    const value = JSON.stringify({ version: 1, authorities: { "apiserver-client-ca": { generations, retired: [] } } });
    const records = { recordOf: () => ({ value, revision: 1 }), onChange() {} };
    return new RotatableAuthority({
      ...{ dataDirectory, sealingKey, baseName: "apiserver-client-ca", clock: systemClock },
      records: records as unknown as FollowedKeyRecords, // these are the parts that it asks
      log: { info() {}, warn() {}, error() {} },
    });
  };
  const fault = "the CA apiserver-client-ca in the store cannot be used: .+its subject is empty.+; ";
  assert.throws(() => open({ ...named, state: "signing" }, { ...nameless, state: "replaced" }), {
    name: "UsageError",
    message: new RegExp(`${fault}end the trust in it: signet ca retire apiserver-client-ca --force$`),
  });
  assert.throws(() => open({ ...nameless, state: "signing" }), {
    message: new RegExp(`${fault}start the version before, and replace it there`),
  });
  assert.ok(open({ ...named, state: "signing" }).isInStore);
});
