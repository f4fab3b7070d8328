import type { CertificateReview } from "../../features/revocation/resources.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { postReview } from "../../machinery/client/post-review.ts";
import { encodeCertificatesPem } from "../../pki/certificates/certificates-pem.ts";
import type { CertificateManager } from "./certificate-manager.ts";

/**
 * Asks the server whether a manager's certificate in use is revoked, and tells the manager when it is. A server that does not know this
 * question counts as no. Rejects when there is no answer.
 */
export async function checkRevocation(
  manager: Pick<CertificateManager, "current" | "revoked">,
  { names, client }: { readonly names: Names; readonly client: ApiClient },
): Promise<void> {
  const pair = manager.current;
  if (pair === undefined) return;
  const review = postReview<Partial<CertificateReview>>(client, {
    group: names.group("signet"),
    kind: "CertificateReview",
    spec: { certificate: encodeCertificatesPem([pair.certificate]) },
  });
  if ((await ignoreCodes([403, 404], review))?.status?.revoked === true) manager.revoked(pair);
}
