import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { namedFiles } from "../../../src/server/doctor/named-files.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

test("the files that settings name are those of every setting with a certificate, a key or a token", () => {
  const folder = temporaryFolder();
  const signers = join(folder, "signers.yaml");
  writeFileSync(
    signers,
    "apiVersion: signet.platform.io/v1\nkind: SignerConfiguration\nsigners:\n" +
      "- name: example.com/services\n  dnsNames: ['*.example.com']\n  usages: [server auth]\n" +
      "  certificateAuthority: {certificateFile: /f/services-ca.crt, keyFile: /f/services-ca.key}\n",
  );
  const keyInToken = "pkcs11:object=nodes?module-path=/lib/token.so&pin-source=/f/pin";
  const commandLine = {
    "data-dir": folder,
    "tls-cert-file": "/f/tls.crt",
    "tls-private-key-file": "/f/tls.key",
    "tls-sni-cert-key": ["/f/sni.crt,/f/sni.key"],
    "cluster-signing-cert-file": "/f/ca.crt",
    "cluster-signing-key-file": "/f/ca.key",
    "cluster-signing-nodeagent-serving-cert-file": "/f/nodes-ca.crt",
    "cluster-signing-nodeagent-serving-key-file": keyInToken,
    "signer-config": signers,
    "client-ca-file": "/f/clients.crt",
    "requestheader-client-ca-file": "/f/proxies.crt",
    "etcd-servers": "https://127.0.0.1:2379",
    "etcd-cafile": "/f/etcd-ca.crt",
    "etcd-certfile": "/f/etcd.crt",
    "etcd-keyfile": "/f/etcd.key",
    "oidc-issuer-url": "https://issuer.example.com",
    "oidc-client-id": "signet",
    "oidc-ca-file": "/f/issuer.crt",
    "token-auth-file": "/f/tokens.csv",
    "authentication-token-webhook-config-file": "/f/webhook.yaml",
    "service-account-issuer": "https://signet.example.com",
    "service-account-signing-key-file": "/f/accounts.key",
  };
  const { certificates, secrets, keysInTokens } = namedFiles(parseServerConfig({ commandLine, file: {} }));
  const named = (extension: RegExp): string[] =>
    Object.entries(commandLine)
      .flatMap(([, value]) => String(value).split(","))
      .filter((value) => value.startsWith("/f/") && extension.test(value))
      .toSorted();
  assert.deepEqual(certificates.toSorted(), [...named(/\.crt$/), "/f/services-ca.crt"].toSorted());
  assert.deepEqual(secrets.toSorted(), [...named(/\.(?:key|csv|yaml)$/), "/f/pin", "/f/services-ca.key"].toSorted());
  assert.deepEqual(keysInTokens, [{ uri: keyInToken, certificateFile: "/f/nodes-ca.crt" }]);
});

test("a key in a token is named once for a certificate, and for each other one", () => {
  const uri = "pkcs11:object=ca?module-path=/lib/token.so";
  const pairs = {
    "cluster-signing-cert-file": "/f/ca.crt",
    "cluster-signing-nodeagent-serving-cert-file": "/f/ca.crt",
    "cluster-signing-apiserver-client-cert-file": "/f/other.crt",
  };
  const commandLine = Object.entries(pairs).flatMap(([flag, file]) => [
    [flag, file],
    [flag.replace("-cert-", "-key-"), uri],
  ]);
  const config = parseServerConfig({ commandLine: Object.fromEntries(commandLine), file: {} });
  assert.deepEqual(
    namedFiles(config).keysInTokens,
    ["/f/ca.crt", "/f/other.crt"].map((certificateFile) => ({ uri, certificateFile })),
  );
});
