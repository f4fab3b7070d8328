import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { awaitCertificate } from "../../../../src/features/certificates/commands/await-certificate.ts";
import { certificateSigningRequestResource } from "../../../../src/features/certificates/resources.ts";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../../src/machinery/client/in-process-transport.ts";
import { CommandFailure } from "../../../../src/machinery/command-line/command-failure.ts";
import { startTestServer } from "../../../test-server.ts";

it("the wait for a certificate ends when another request has taken the name of the awaited one", async () => {
  const server = await startTestServer();
  const client = new ApiClient(inProcessTransport(server.handler, { bearerToken: server.adminToken }));
  const connection = { client, names, timeoutMilliseconds: 60_000 };
  const requests = client.resource(certificateSigningRequestResource(names));
  const pem = readFileSync(join(import.meta.dirname, "../../../conformance/fixtures/csr-ecdsa.pem"));
  const make = () =>
    requests.create({
      apiVersion: `${names.group("certificates")}/v1`,
      kind: "CertificateSigningRequest",
      metadata: { name: "ann" },
      spec: { request: pem.toString("base64"), signerName: "example.com/nobody", usages: ["client auth"] },
      status: {},
    });
  const { uid } = (await make()).metadata;
  await requests.delete("ann");
  const other = await make();
  const status = { conditions: [{ type: "Failed", status: "True", message: "of the other one" }] };
  await requests.update({ ...other, status }, { subresource: "approval" });

  const messageFor = async (awaited: { readonly name: string; readonly uid?: string | undefined }): Promise<string> => {
    const error: unknown = await awaitCertificate(connection, awaited).catch((thrown: unknown) => thrown);
    assert(error instanceof CommandFailure);
    return error.message;
  };
  assert.equal(await messageFor({ name: "ann", uid }), "certificate request ann was deleted; make it again");
  assert.match(await messageFor({ name: "ann" }), /of the other one/);
});

it("the wait for a certificate learns nothing from what a watch says of another request", async () => {
  const request = (name: string, status: object): object => ({
    kind: "CertificateSigningRequest",
    metadata: { name, uid: name, resourceVersion: "1" },
    spec: {},
    status,
  });
  const events = [
    { type: "MODIFIED", object: request("bob", { conditions: [{ type: "Denied", status: "True" }] }) },
    { type: "DELETED", object: request("bob", {}) },
    { type: "MODIFIED", object: request("ann", { certificate: "ann's" }) },
  ];
  async function* lines(values: readonly object[]): AsyncGenerator<Uint8Array> {
    for (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`);
  }
  const client = new ApiClient({
    send: async ({ query }) => {
      const isWatch = query?.includes("watch=true") === true;
      return { status: 200, headers: {}, body: lines(isWatch ? events : [request("ann", {})]) };
    },
    close: () => {},
  });
  const { status } = await awaitCertificate({ client, names, timeoutMilliseconds: 60_000 }, { name: "ann" });
  assert.equal(status.certificate, "ann's");
});

it("a wait for a certificate that fails at its first read leaves no line on the terminal", async (context) => {
  let shown = "";
  context.mock.getter(process, "stderr", () => ({
    isTTY: true,
    columns: 80,
    cursorTo: () => true,
    clearLine: () => true,
    write: (text: string) => (shown = text) === text,
  }));
  const refused = new Error("connection refused");
  const client = new ApiClient({ send: () => Promise.reject(refused), close: () => {} });
  await assert.rejects(awaitCertificate({ client, names, timeoutMilliseconds: 60_000 }, { name: "ann" }), refused);
  assert.equal(shown, "");
});
