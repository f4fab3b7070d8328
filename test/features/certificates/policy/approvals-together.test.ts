import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { awaitedConcurrency } from "../../../../src/features/certificates/requests/request-queue.ts";
import { startTestServer } from "../../../test-server.ts";
import { CertificateFolder, CertificateScene } from "../certificate-loop-scene.ts";
import type { Wish } from "../certificate-loop-scene.ts";

const node: Omit<Wish, "name"> = {
  signerName: signerNames.apiserverClientNodeAgent(names),
  commonName: "system:node:n1",
  organizations: ["system:nodes"],
};
const user: Omit<Wish, "name"> = {
  signerName: signerNames.apiserverClient(names),
  commonName: "a",
  expirationSeconds: 3600,
};

const policy = `
rules:
  - name: users
    action: approve
    match: { signers: [platform.io/apiserver-client] }
    require: { commonNames: [a] }
`;

/** If fewer approvals may run at a time, they wait for each other without an end. */
const patience = { timeout: 60_000 };

describe("Approvals that nobody has to give", () => {
  for (const { loop, wish } of [
    { loop: "csrapproving", wish: node },
    { loop: "csrpolicyapproving", wish: user },
  ]) {
    it(`by ${loop} are written together, up to 64 of them: they share the flushes of the disk`, patience, async () => {
      const folder = new CertificateFolder();
      writeFileSync(folder.file("policy.yaml"), policy);
      const all = Promise.withResolvers<void>();
      let begun = 0;
      const server = await startTestServer({
        settings: { "approval-policy": folder.file("policy.yaml") },
        admission: [
          {
            name: "HoldsApprovals",
            async validate({ subresource }): Promise<void> {
              if (subresource !== "approval") return;
              begun += 1;
              if (begun === awaitedConcurrency) all.resolve();
              await all.promise;
            },
          },
        ],
      });
      try {
        const scene = new CertificateScene(server.client);
        const wanted = Array.from({ length: awaitedConcurrency }, (_, index) => `request-${index}`);
        await Promise.all(wanted.map((name) => scene.request({ ...wish, name })));
        await Promise.all(wanted.map((name) => scene.issued(name)));
        assert.equal(begun, awaitedConcurrency);
      } finally {
        await server.stop();
        folder.remove();
      }
    });
  }
});
