import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, it } from "node:test";
import { kubernetesNames, platformNames } from "../../../../src/machinery/api/names.ts";
import { wellKnownSigners } from "../../../../src/features/certificates/signers/well-known-signers.ts";

const source = resolve(import.meta.dirname, "../../../../src");
const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const textOf = (file: string): string => readFileSync(join(source, file), "utf8");

/** The names in both spellings stand in one table, which also clients without the signers read. */
const nameTable = "features/certificates/signer-names.ts";
const records = [
  "features/certificates/signers/apiserver-client.ts",
  "features/certificates/signers/apiserver-client-node-agent.ts",
  "features/certificates/signers/node-agent-serving.ts",
];

describe("the records of the signers", () => {
  it("are the only place that spells the name of a signer", () => {
    const words = wellKnownSigners.flatMap((signer) => [
      signer.shortName,
      ...[platformNames, kubernetesNames].map((names) => signer.nameIn(names).split("/")[1] ?? ""),
    ]);
    const mentions = new RegExp(`["'\`/-](${words.join("|")})(?![\\w.-]*\\.ts)`);
    const found = files.filter((file) => mentions.test(textOf(file)));
    assert.deepEqual(
      found.filter((file) => file !== nameTable && !records.includes(file)),
      [],
    );
  });

  it("are the only place in the certificates, the server and the roles that looks up a signer's name", () => {
    const found = files
      .filter((file) => /^(features\/(certificates|access|accounts|core)|server|cli)\//.test(file))
      .filter((file) => /signerNames\.(apiserverClient|nodeAgentServing)/.test(textOf(file)));
    // The column of a request's signer quotes upstream's description, which names them.
    const columns = "features/certificates/requests/certificate-signing-request-columns.ts";
    assert.deepEqual(found.sort(), [columns, ...records].sort());
  });

  it("have words and names that no two of them share", () => {
    for (const valuesOf of [
      ({ shortName }: (typeof wellKnownSigners)[number]) => shortName,
      (signer: (typeof wellKnownSigners)[number]) => signer.nameIn(platformNames),
      (signer: (typeof wellKnownSigners)[number]) => signer.nameIn(kubernetesNames),
    ]) {
      assert.equal(new Set(wellKnownSigners.map(valuesOf)).size, wellKnownSigners.length);
    }
  });
});
