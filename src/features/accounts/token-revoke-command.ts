import { Command } from "commander";
import { ApiError } from "../../machinery/api/api-error.ts";
import { jsonFields } from "../../machinery/api/json/json-object.ts";
import { timestamp } from "../../machinery/api/clock.ts";
import { withConnectionFlags, withServer } from "../../machinery/command-line/connection/connection.ts";
import type { ServerConnection } from "../../machinery/command-line/connection/connection.ts";
import { withExamples } from "../../machinery/command-line/examples.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { withOutputFlag } from "../../machinery/command-line/output/output.ts";
import { issuedBeforeOption, reasonOption, revoke } from "../revocation/index.ts";
import type { RevocationFlags, RevocationTargetAt } from "../revocation/index.ts";
import { readTokenInput } from "./read-token-input.ts";
import { serviceAccountResource } from "./resources.ts";
import { parseToken } from "./tokens/json-web-token.ts";

interface RevokeFlags extends RevocationFlags {
  readonly jti?: string;
  readonly account?: string;
}

/** `signet token revoke`: ends tokens before they expire. */
export const revokeToken = (): Command =>
  withExamples(
    withOutputFlag(withConnectionFlags(new Command("revoke")))
      .description("refuse a token, or all that were issued so far, from the next request on")
      .argument("[token]", "the token; default without flags: read from standard input")
      .option("--jti <id>", "the id of a token, as audit events name it (JTI=...)")
      .option("--account <name>", "all tokens of a service account, and of its Secrets; --namespace says where it is")
      .addOption(
        issuedBeforeOption(
          "only tokens that were issued before; without --account: those of every account; default with it: now",
        ),
      )
      .addOption(reasonOption())
      .action(async (given: string | undefined, flags: RevokeFlags) => {
        const { jti, account, issuedBefore } = flags;
        const areMany = account !== undefined || issuedBefore !== undefined;
        if ([given, jti, areMany || undefined].filter((way) => way !== undefined).length > 1) {
          throw new UsageError("give one of: a token, --jti, or --account and --issued-before");
        }
        const one = areMany
          ? undefined
          : jti === undefined
            ? identityOf(given ?? (await readTokenInput()))
            : { id: jti };
        await withServer(flags, async (connection) => {
          if (account !== undefined) await refuseUnknownAccount(connection, account);
          const targetAt: RevocationTargetAt = (now) => {
            if (one !== undefined) {
              const { id, expirationTimestamp } = one;
              return { token: { id }, ...(expirationTimestamp !== undefined && { expirationTimestamp }) };
            }
            const serviceAccount =
              account === undefined ? {} : { serviceAccount: { namespace: connection.namespace, name: account } };
            return { token: { ...serviceAccount, issuedBefore: issuedBefore ?? now } };
          };
          await revoke(connection, { flags, targetAt });
        });
      }),
    ["A token that leaked, in a file", "signet token revoke < token"],
    ["A token by its id in an audit event", "signet token revoke --jti 5a0c9a1e-7c4d-4be1-8f0e-3f6a4f9f3b52"],
    ["All tokens that an account has got so far", "signet token revoke --account robot --namespace team"],
    ["Everything from before an incident ended", "signet token revoke --issued-before 2026-11-22T10:00:00Z"],
  );

/**
 * Throws a 404 ApiError for an account that does not exist: its tokens are refused anyway, but a misspelled name must not look revoked.
 * Callers who may revoke but not read accounts are not refused.
 */
async function refuseUnknownAccount({ client, names, namespace }: ServerConnection, name: string): Promise<void> {
  try {
    await client.resource(serviceAccountResource(names), namespace).get(name);
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "Forbidden")) throw error;
  }
}

/**
 * The id of a token, and its expiration. The server does not check the signature here, because a user who may revoke tokens may revoke any
 * id.
 */
function identityOf(token: string): { readonly id: string; readonly expirationTimestamp?: string } {
  const payload = parseToken(token)?.payload;
  const { jti, exp } = jsonFields(payload);
  if (typeof jti !== "string" || jti === "")
    throw new UsageError(adviceForToken(token, { isJwt: payload !== undefined }));
  const isTime = typeof exp === "number" && exp > 0 && exp < 253_402_300_800;
  return { id: jti, ...(isTime && { expirationTimestamp: timestamp(exp * 1000) }) };
}

/** How to end a token that has no id to revoke. */
function adviceForToken(token: string, { isJwt }: { readonly isJwt: boolean }): string {
  const [, bootstrapId] = /^([a-z0-9]{6})\.[a-z0-9]{16}$/.exec(token.trim()) ?? [];
  if (bootstrapId !== undefined) {
    return `this is a bootstrap token, which ends with its Secret: run signet bootstrap-token delete ${bootstrapId}`;
  }
  if (isJwt) {
    return "this token has no id (jti): if it is from a Secret, delete the Secret, or revoke all of its account with --account";
  }
  return (
    "this is not a token with an id: give the whole token. A static token ends when its line is removed from the file of " +
    "--token-auth-file; a token that a webhook accepts is revoked where the webhook asks"
  );
}
