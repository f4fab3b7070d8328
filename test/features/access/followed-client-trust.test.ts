import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { followClientTrust } from "../../../src/features/access/followed-client-trust.ts";
import { kubernetesNames } from "../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../src/machinery/client/api-client.ts";
import { encodeCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { newAuthority } from "./certificate-scene.ts";

const [clients, proxies] = [newAuthority("clients").certificate, newAuthority("proxies").certificate];
const holding = (data: object): [number, object] => [200, { kind: "ConfigMap", metadata: {}, data }];
const trusting = holding({
  "client-ca-file": encodeCertificatesPem([clients]),
  "requestheader-client-ca-file": encodeCertificatesPem([proxies]),
});
const refusal = (code: number): [number, object] => [code, { kind: "Status", code, message: `refused with ${code}` }];

/** A server that gives one answer until another is set. Undefined: it gives none. */
function follow(context: TestContext, first: [number, object] | undefined) {
  context.mock.timers.enable({ apis: ["setInterval"] });
  let answer = first;
  const paths: string[] = [];
  const client = new ApiClient({
    async send({ path }) {
      paths.push(path);
      if (answer === undefined) throw new Error("no connection");
      const [status, value] = answer;
      return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(value))]) };
    },
    close: () => {},
  });
  const log: unknown[] = [];
  const line = (fields: object, message: string): void => void log.push({ ...fields, message });
  const followed = followClientTrust({ client, names: kubernetesNames, log: { info: line, error: line } });
  const answering = async (next: [number, object] | undefined): Promise<void> => {
    answer = next;
    context.mock.timers.tick(10_000);
    await nextTurn();
  };
  return { followed, paths, log, answering };
}

describe("the CAs that a server trusts for clients", () => {
  it("are those of its clients and front proxies, and are read again every ten seconds", async (context) => {
    const { followed, paths, answering } = follow(context, trusting);
    const trust = await followed;
    const subjects = (): (string | undefined)[] | undefined =>
      trust.authorities()?.map(({ subject }) => subject.commonName);
    assert.deepEqual(subjects(), ["clients", "proxies"]);
    assert.deepEqual(paths, ["/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"]);
    await answering(holding({ "client-ca-file": encodeCertificatesPem([proxies]) }));
    assert.deepEqual(subjects(), ["proxies"]);
    trust.stop();
    await answering(trusting);
    assert.deepEqual(subjects(), ["proxies"]);
  });

  it("stay while there is no connection, and are unknown while the server does not tell them", async (context) => {
    const { followed, log, answering } = follow(context, trusting);
    const trust = await followed;
    for (const [answer, known] of [
      [undefined, 2],
      [refusal(503), 2],
      [refusal(403), undefined],
      [undefined, undefined],
      [trusting, 2],
      [refusal(404), undefined],
      [holding({}), undefined],
      [holding({ "client-ca-file": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }), undefined],
    ] as const) {
      await answering(answer);
      assert.equal(trust.authorities()?.length, known);
    }
    assert.match(JSON.stringify(log), /no connection.*503.*403.*are read again.*404.*no certificate.*cannot be read/);
  });

  it("are needed at the start: the message says which ConfigMap or role is missing", async (context) => {
    const refused = (answer: [number, object] | undefined, message: RegExp): Promise<void> => {
      context.mock.timers.reset();
      return assert.rejects(follow(context, answer).followed, { message });
    };
    const where = "--signer-config: the ConfigMap extension-apiserver-authentication in kube-system .*";
    const role = "bind the user to the role extension-apiserver-authentication-reader in kube-system";
    await refused(refusal(403), new RegExp(`^${where}: refused with 403; ${role}$`));
    await refused(refusal(404), new RegExp(`^${where}: refused with 404$`));
    await refused(holding({}), new RegExp(`^${where}, but it has no certificate in client-ca-file$`));
    await refused(undefined, /^no connection$/);
  });
});
