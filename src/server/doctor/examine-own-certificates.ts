import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileFailureReason } from "../../machinery/files/unusable-file.ts";
import type { Certificate } from "../../pki/certificate.ts";
import { PkiError } from "../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../pki/trust-anchors.ts";
import type { ServerConfig } from "../server-config.ts";
import { splitKeyPair } from "../tls/serving-certificate.ts";
import { bad, good, warning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** A server renews them before this part of their lifetime is over, also while it runs. */
const lateInLife = 3 / 4;

/** The certificates that a server makes for itself: the serving certificate, unless settings name one, and the administrator's. */
export function examineOwnCertificates({ dataDirectory, listener }: ServerConfig, now: number): Finding[] {
  const served = listener.certificate === undefined ? { "serving.pem": "the serving certificate" } : {};
  return Object.entries({ ...served, "admin.pem": "the certificate in admin.kubeconfig" }).flatMap(([name, what]) =>
    examine(join(dataDirectory, name), { what, now }),
  );
}

function examine(file: string, { what, now }: { readonly what: string; readonly now: number }): Finding[] {
  const subject = "certificate";
  const advice = "restart the server, which makes a new one, and copy admin.kubeconfig again to where it is used";
  let certificate: Certificate | undefined;
  try {
    if (!existsSync(file)) return []; // the server has not started yet
    // Whose file it is, and who can read it, is examined elsewhere: a doctor may be another user.
    [certificate] = parseCertificatesPem(splitKeyPair(readFileSync(file, "utf8"))?.certificate ?? "");
  } catch (error) {
    const reason = error instanceof PkiError ? error.message : fileFailureReason(error);
    return [bad(subject, `${file}: ${reason}`, advice)];
  }
  if (certificate === undefined) return [bad(subject, `${file} holds no key with a certificate`, advice)];
  const { notBefore, notAfter } = certificate;
  const end = new Date(notAfter).toISOString();
  if (notAfter <= now) return [bad(subject, `${what} ended at ${end}`, advice)];
  if (now - notBefore > (notAfter - notBefore) * lateInLife) {
    return [warning(subject, `${what} ends at ${end}, and should have been renewed`, advice)];
  }
  return [good(subject, `${what} is valid until ${end}`)];
}
