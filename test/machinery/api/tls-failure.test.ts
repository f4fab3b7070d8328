import assert from "node:assert/strict";
import { it } from "node:test";
import { createSecureContext } from "node:tls";
import { tlsFailure } from "../../../src/machinery/api/tls-failure.ts";

const settings = { authorities: "--ca", clientCertificate: "--cert" };
const failed = (code: string, message: string): Error => Object.assign(new Error(message), { code });

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

it("the text of a failed TLS connection names the setting of the CAs, or of the client certificate, where one is wrong", () => {
  for (const [error, wanted] of [
    [failed("SELF_SIGNED_CERT_IN_CHAIN", "self-signed"), "self-signed (check --ca)"],
    [failed("ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", "ssl/tls alert bad certificate"), "(check --cert)"],
    [failed("EPROTO", "tlsv13 alert certificate required"), "(check --cert)"],
    [failed("ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", "tlsv1 alert unknown ca"), "(check --cert)"],
    [failed("ERR_OSSL_X509_KEY_VALUES_MISMATCH", "key values mismatch"), "(check --cert)"],
    [thrownBy(() => createSecureContext({ cert: "no PEM", key: "no PEM" })), "no start line (check --ca, --cert)"],
  ] as const) {
    const text = tlsFailure(error, settings);
    assert.ok(text.endsWith(wanted), text);
  }
});

it("the text of another failure names no setting, and neither does that of a client certificate where none can be set", () => {
  for (const message of ["connect ECONNREFUSED 127.0.0.1:1", "tlsv1 alert protocol version"]) {
    assert.equal(tlsFailure(new Error(message), settings), message);
  }
  const refused = "tlsv1 alert unknown ca";
  assert.equal(tlsFailure(new Error(refused), { authorities: "--ca" }), refused);
});
