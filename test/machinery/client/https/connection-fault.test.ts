import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectionFault } from "../../../../src/machinery/client/https/connection-fault.ts";
import type { CaSource } from "../../../../src/machinery/client/https/connection-fault.ts";
import { connectionTimeout, headersTooLong } from "../../../../src/machinery/client/https/connections.ts";

const failure = (code: string, message = "it failed"): Error => Object.assign(new Error(message), { code });
const textFor = (code: string, caSource: CaSource): string =>
  connectionFault(failure(code), caSource)?.text ?? assert.fail(code);

describe("the message about a failed connection", () => {
  it("says where to name the server's CA when it is not trusted", () => {
    for (const code of [
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "SELF_SIGNED_CERT_IN_CHAIN",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
    ]) {
      assert.match(textFor(code, undefined), /this machine does not know; give the server's CA with --ca-file/);
      assert.match(textFor(code, "--ca-file"), /that --ca-file does not hold; give it the CA of this very server/);
      assert.match(textFor(code, "the kubeconfig"), /does not hold; give it the CA of this very server/);
    }
  });

  it("names a kubeconfig only where there is one", () => {
    for (const code of [
      "ECONNREFUSED",
      "ENOTFOUND",
      "ENETUNREACH",
      "EINVAL",
      "ETIMEDOUT",
      "EPROTO",
      "HPE_X",
      "ERR_SSL_X",
      "ERR_PROXY_TUNNEL",
    ]) {
      assert.match(textFor(code, "the kubeconfig"), /in the kubeconfig/);
      for (const source of ["--ca-file", undefined] as const) assert.doesNotMatch(textFor(code, source), /kubeconfig/);
    }
  });

  it("has the reason for which TLS failed, without the places in OpenSSL's source", () => {
    const alert =
      "40E30EF1957F0000:error:0A000415:SSL routines:ssl3_read_bytes:ssl/tls alert certificate expired:../deps/openssl/ssl/rec_layer_s3.c:918:" +
      "SSL alert number 45\n";
    const failed = failure("ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED", alert);
    assert.equal(
      connectionFault(failed, "the kubeconfig")?.text,
      "TLS failed (ssl/tls alert certificate expired); check the client certificate in the kubeconfig",
    );
  });

  it("names the CA too when a certificate is not valid now, because a restart of the server does not renew a CA", () => {
    const late = textFor("CERT_HAS_EXPIRED", "the kubeconfig");
    assert.match(late, /^its certificate or its CA has expired, .* its log says if the CA has expired$/);
    const early = textFor("CERT_NOT_YET_VALID", "the kubeconfig");
    assert.match(early, /^its certificate or its CA is not valid yet, .* its log says if the CA is not valid yet$/);
  });

  it("says of headers that are too long that the token may be", () => {
    assert.match(connectionFault(headersTooLong(), "the kubeconfig")?.text ?? "", /the token; use another token$/);
  });

  it("says what to check when a server is silent, as behind a firewall", () => {
    const fault = connectionFault(connectionTimeout({ server: "https://127.0.0.1:6443" }), "--ca-file");
    assert.equal(fault?.text, "it did not answer in time; check the network and the server's URL");
  });

  it("says that the client's certificates cannot be used, and is undefined for unknown errors", () => {
    assert.equal(connectionFault(failure("ERR_OSSL_X"), "the kubeconfig")?.isOfCredentials, true);
    assert.equal(connectionFault(failure("ECONNREFUSED"), "the kubeconfig")?.isOfCredentials, undefined);
    assert.equal(connectionFault(failure("EOTHER"), "the kubeconfig"), undefined);
    assert.equal(connectionFault(new Error("other"), undefined), undefined);
  });
});
