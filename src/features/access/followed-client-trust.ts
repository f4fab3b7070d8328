import { ApiError } from "../../machinery/api/api-error.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { commandRefused } from "../../machinery/command-line/command-failure.ts";
import type { Log } from "../../machinery/logging/log.ts";
import { OutageReport } from "../../machinery/logging/outage-report.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { PkiError } from "../../pki/pki-error.ts";
import { configMapResource } from "../core/index.ts";
import { delegatedAuthenticationName, delegatedAuthenticationReader } from "./delegated-authentication-publisher.ts";
import { publishedAuthorities } from "./published-client-trust.ts";

const intervalMilliseconds = 10_000;

interface FollowedClientTrustOptions {
  readonly client: ApiClient;
  readonly names: Names;
  readonly log: Pick<Log, "info" | "error">;
}

interface FollowedClientTrust {
  /** The CAs that the server trusts for the certificates of clients and front proxies. Undefined: the server does not tell them now. */
  authorities(): readonly Certificate[] | undefined;
  stop(): void;
}

/**
 * Reads which CAs a server trusts for clients from its ConfigMap `extension-apiserver-authentication`, at once and every ten seconds
 * (upstream: `DynamicConfigMapCAController`). While the server cannot be reached, the CAs that were read last stay. Rejects with
 * CommandFailure when the first reading fails.
 */
export async function followClientTrust(options: FollowedClientTrustOptions): Promise<FollowedClientTrust> {
  const { log } = options;
  const first = await readClientTrust(options);
  if (typeof first === "string") throw commandRefused(`--signer-config: ${first}`);
  let known: readonly Certificate[] | undefined = first;
  const outage = new OutageReport({
    onFailure: (reason) => log.error({ reason }, "cannot read which CAs the server trusts for clients, will retry"),
    onRecovery: () => log.info({}, "the CAs that the server trusts for clients are read again"),
  });
  const read = async (): Promise<void> => {
    const next = await readClientTrust(options);
    known = typeof next === "string" ? undefined : next;
    if (typeof next === "string") outage.failed(next);
    else outage.succeeded();
  };
  const onFailure = (error: unknown): void => outage.failed(error);
  const reading = periodically({ milliseconds: intervalMilliseconds, task: read, onFailure });
  return { authorities: () => known, stop: () => reading.stop() };
}

/** The CAs, or why the server does not tell them. Rejects when there is no answer. */
async function readClientTrust({
  client,
  names,
}: FollowedClientTrustOptions): Promise<readonly Certificate[] | string> {
  const namespace = names.namespaces.system;
  const where = `the ConfigMap ${delegatedAuthenticationName} in ${namespace} says which CAs the server trusts for clients`;
  try {
    const { data = {} } = await client.resource(configMapResource(names), namespace).get(delegatedAuthenticationName);
    const { clients, proxies } = publishedAuthorities(data);
    if (clients.length === 0) return `${where}, but it has no certificate in client-ca-file`;
    return [...clients, ...proxies];
  } catch (error) {
    if (error instanceof PkiError) return `${where}, but it holds a certificate that cannot be read: ${error.message}`;
    if (!(error instanceof ApiError) || ![403, 404].includes(error.code)) throw error;
    const help =
      error.code === 403 ? `; bind the user to the role ${delegatedAuthenticationReader} in ${namespace}` : "";
    return `${where}: ${error.message}${help}`;
  }
}
