import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { after, before, describe, it } from "node:test";
import { wantedServingCertificate } from "../../../../src/agent/certificates/wanted-certificate.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { tlsOptions } from "../../../../src/machinery/client/https/tls-options.ts";
import { encodePrivateKeyPem, generatePrivateKey, publicKeyInfoOf } from "../../../../src/pki/keys/keys.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { certificateFor } from "../../../agent/issued-certificate.ts";

describe("a connection to a server whose certificate is for other names than the URL's host", () => {
  const key = generatePrivateKey("ECDSA P-256");
  const names = { nodeName: "n1", dnsNames: ["signet.example"], ipAddresses: ["192.0.2.7", "2001:db8::7"] };
  const { der } = certificateFor(wantedServingCertificate(platformNames, names), {
    notBefore: 0,
    notAfter: Date.UTC(2039, 0),
    publicKey: publicKeyInfoOf(key),
  });
  const certificate = encodePem("CERTIFICATE", der);
  const server = createServer({ key: encodePrivateKeyPem(key), cert: certificate });
  before(async () => void (await once(server.listen(0, "127.0.0.1"), "listening")));
  after(() => server.close());

  /** The name that the server was asked for (SNI). */
  async function askedName(serverName: string | undefined): Promise<unknown> {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
    const accepted = once(server, "secureConnection") as Promise<[TLSSocket]>;
    const access = { server: url, ...(serverName !== undefined && { serverName }) };
    const socket = connect(tlsOptions(access, { caCertificates: certificate }));
    try {
      await once(socket, "secureConnect");
      return (await accepted)[0].servername;
    } finally {
      socket.destroy();
    }
  }

  it("is made when it may be for one of those: a name, which is asked for, or an address, which never is", async () => {
    assert.equal(await askedName("signet.example"), "signet.example");
    assert.equal(await askedName("192.0.2.7"), false);
    assert.equal(await askedName("2001:db8::7"), false);
  });

  it("is refused otherwise", async () => {
    for (const serverName of [undefined, "other.example", "192.0.2.8", "127.0.0.1"]) {
      await assert.rejects(askedName(serverName), { code: "ERR_TLS_CERT_ALTNAME_INVALID" }, serverName);
    }
  });
});
