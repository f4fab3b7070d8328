import { jsonFields } from "../../machinery/api/json/json-object.ts";
import type { ParsedRequestInfo } from "../../machinery/http/request-info.ts";
import { parseToken } from "./tokens/json-web-token.ts";

/** Upstream's key (`serviceaccount.IssuedCredentialIDAuditAnnotationKey`), in both naming profiles. */
const annotation = "authentication.kubernetes.io/issued-credential-id";

/** The audit annotation with the id of the token in the answer of a TokenRequest, so that the audit log shows where a token comes from. */
export function issuedCredential(
  info: ParsedRequestInfo,
  answer: () => unknown,
): Readonly<Record<string, string>> | undefined {
  if (info.kind !== "resource" || info.resource !== "serviceaccounts" || info.subresource !== "token") return undefined;
  const { jti } = jsonFields(parseToken(tokenOf(answer()))?.payload);
  return typeof jti === "string" ? { [annotation]: `JTI=${jti}` } : undefined;
}

/** The token in an answer. Empty when there is none. */
function tokenOf(answer: unknown): string {
  const { token } = jsonFields(jsonFields(answer)["status"]);
  return typeof token === "string" ? token : "";
}
