import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { AdmissionAttributes } from "../../../../src/machinery/api/attributes.ts";
import { serviceUnavailable } from "../../../../src/machinery/api/api-error.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../../src/machinery/client/in-process-transport.ts";
import { runControllers } from "../../../../src/machinery/loops/elected-controllers.ts";
import { MemoryStore } from "../../../../src/machinery/storage/backends/memory.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { certificateInventory } from "../../../../src/features/certificates/inventory/certificate-inventory.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { csrSigning } from "../../../../src/features/certificates/signers/csr-signing.ts";
import { runningSigners } from "../../../../src/features/certificates/signers/running-signers.ts";
import { atOnce, loopContext } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateScene, newAuthority } from "../certificate-loop-scene.ts";

/** How a write of the loop is known: the record of a certificate, or the status of its request. */
const stepOf = ({ resource, subresource, operation }: AdmissionAttributes): "record" | "status" | undefined => {
  if (resource === "issuedcertificates" && operation === "CREATE") return "record";
  return resource === "certificatesigningrequests" && subresource === "status" ? "status" : undefined;
};

describe("csrsigning in the server's process", () => {
  const store = new MemoryStore();
  const authority = rootSigningAuthority(newAuthority("signer"));
  const signers = runningSigners({
    ...{ names, authorityFor: () => authority, configured: () => [] },
    maximumLifetimeSeconds: 3600,
    revocation: undefined,
  });
  /** Runs for each write of a record or a status. */
  let onStep: (step: "record" | "status") => Promise<void> = async () => {};
  let server: TestServer;
  let scene: CertificateScene;
  before(async () => {
    const rule = {
      name: "Test",
      async validate(attributes: AdmissionAttributes): Promise<void> {
        const step = stepOf(attributes);
        if (step !== undefined) await onStep(step);
      },
    };
    server = await startTestServer({ settings: { controllers: false }, store, admission: [rule] });
    scene = new CertificateScene(server.client);
  });

  function startLoop(): { stop(): Promise<void> } {
    const client = new ApiClient(inProcessTransport(server.handler, { bearerToken: server.adminToken }));
    const identity = { names: { dnsNames: [], ipAddresses: [] }, certificates: [] };
    const signing = csrSigning({ findSigner: signers.find, server: () => identity });
    return runControllers([signing, certificateInventory], loopContext({ client, schedule: atOnce }));
  }

  const records = async (name: string): Promise<(string | undefined)[]> => {
    const { uid } = (await scene.requests.get(name)).metadata;
    const { items } = await server.client
      .resource(scene.references.issuedCertificates)
      .list({ fieldSelector: `spec.requestUid=${uid}` });
    return items.map(({ spec }) => spec.certificate);
  };

  async function assertOneCertificate(name: string): Promise<void> {
    await scene.issued(name);
    assert.deepEqual(await records(name), [(await scene.requests.get(name)).status.certificate]);
  }

  async function approved(name: string): Promise<void> {
    await scene.request({ name, signerName: signerNames.apiserverClient(names), commonName: "alice" });
    await scene.approve(name);
  }

  it("writes four times in three transactions for a certificate: the last are its record and its status", async () => {
    const loop = startLoop();
    const transactions: string[][] = [];
    const watch = store.watch({
      afterRevision: store.latestRevision(),
      onChanges: (changes) =>
        void transactions.push(changes.map(({ key }) => key.split("/")[2]?.split(".")[0] ?? "").filter(isCounted)),
      onEnd: () => assert.fail("ended"),
    });
    await approved("counted");
    await assertOneCertificate("counted");
    await loop.stop();
    watch.stop();
    assert.deepEqual(
      transactions.filter(({ length }) => length > 0),
      [
        ["certificatesigningrequests"],
        ["certificatesigningrequests"],
        ["issuedcertificates", "certificatesigningrequests"],
      ],
    );
  });

  for (const refused of ["record", "status"] as const) {
    it(`writes neither when the write of the ${refused} is refused, and writes both later`, async () => {
      const name = `refused-${refused}`;
      await approved(name);
      let refusals = 0;
      onStep = async (step) => {
        if (step !== refused || refusals === 3) return;
        refusals += 1;
        assert.deepEqual(await records(name), []);
        throw serviceUnavailable("not now");
      };
      const loop = startLoop();
      await assertOneCertificate(name);
      await loop.stop();
      onStep = async () => {};
      assert.equal(refusals, 3);
    });
  }

  it("discards one of two certificates when two processes sign at the same moment", async () => {
    await approved("twice");
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    onStep = async (step) => {
      if (step !== "record") return;
      waiting += 1;
      if (waiting === 2) both.resolve();
      await both.promise;
    };
    const loops = [startLoop(), startLoop()];
    await assertOneCertificate("twice");
    for (const loop of loops) await loop.stop();
    onStep = async () => {};
    assert.equal((await records("twice")).length, 1);
  });
});

const isCounted = (plural: string): boolean => ["certificatesigningrequests", "issuedcertificates"].includes(plural);
