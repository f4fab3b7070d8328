import type { Authorize } from "../../machinery/api/attributes.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";

export interface SignerPermission {
  readonly user: UserInfo;
  readonly verb: "approve" | "sign" | "attest";
  readonly signerName: string;
}

export interface SignerRuleOptions {
  readonly names: Names;
  readonly authorize: Authorize;
}

/**
 * Whether a user may do something for a signer: by its exact name, or by `domain/*` for all signers of its domain
 * (upstream: `IsAuthorizedForSignerName`).
 */
export async function isPermittedForSigner(
  { names, authorize }: SignerRuleOptions,
  { user, verb, signerName }: SignerPermission,
): Promise<boolean> {
  const domain = signerName.split("/", 1)[0] ?? "";
  for (const name of [signerName, `${domain}/*`]) {
    const { decision } = await authorize({
      kind: "resource",
      user,
      verb,
      group: names.group("certificates"),
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
    });
    if (decision === "allow") return true;
  }
  return false;
}
