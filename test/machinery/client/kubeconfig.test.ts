import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKubeconfig, KubeconfigError, parseKubeconfig } from "../../../src/machinery/client/kubeconfig.ts";

const certificateUser = formatKubeconfig({
  server: "https://127.0.0.1:6443",
  caCertificates: "CA",
  user: "admin",
  namespace: "team",
  credentials: { type: "certificate", certificate: "CERT", key: "KEY" },
});

test("a written kubeconfig reads back as it was meant", () => {
  assert.deepEqual(parseKubeconfig(certificateUser, { path: "x" }), {
    namespace: "team",
    transport: {
      server: "https://127.0.0.1:6443",
      caCertificates: "CA",
      clientCertificate: { certificate: "CERT", key: "KEY" },
    },
  });
});

test("a token in a kubeconfig is given with every request", () => {
  const text = formatKubeconfig({
    server: "https://h",
    caCertificates: "CA",
    user: "u",
    credentials: { type: "token", token: "secret" },
  });
  const { transport, namespace } = parseKubeconfig(text, { path: "x" });
  assert.equal(transport.bearerToken?.(), "secret");
  assert.equal(namespace, "default");
});

test("a kubeconfig that can't be used is refused with its file's name and the missing part", () => {
  const refusals: [string, RegExp][] = [
    ["a: [", /kubeconfig x is not YAML/],
    ["{}", /kubeconfig x has no current-context/],
    ["current-context: a", /kubeconfig x has no context "a"/],
    ["current-context: a\ncontexts: [{name: a, context: {cluster: c}}]", /kubeconfig x has no cluster "c"/],
    [
      "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
      /kubeconfig x: the cluster has no server/,
    ],
    ["- 1", /kubeconfig x has no current-context/],
  ];
  for (const [text, message] of refusals) {
    assert.throws(
      () => parseKubeconfig(text, { path: "x" }),
      (error) => error instanceof KubeconfigError && message.test(error.message),
      text,
    );
  }
});

test("another context than the current one can be chosen", () => {
  const text = certificateUser.replace("current-context: signet", "current-context: other");
  assert.equal(parseKubeconfig(text, { path: "x", context: "signet" }).namespace, "team");
});
