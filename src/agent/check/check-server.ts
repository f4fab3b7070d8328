import {
  certificateSigningRequestResource,
  clusterTrustBundleResource,
} from "../../features/certificates/resources.ts";
import { ApiError } from "../../machinery/api/api-error.ts";
import { monotonicClock, sleep, systemClock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { namesOfServer } from "../../machinery/client/names-of-server.ts";
import { generatePrivateKey, parsePrivateKeyPem } from "../../pki/keys/keys.ts";
import type { AgentSettings, TrustBundleFile } from "../agent-settings.ts";
import { faulty, notChecked, ok } from "./check-finding.ts";
import type { CheckFinding } from "./check-finding.ts";
import type { SavedClientCertificate } from "./check-files.ts";
import { nodeRequestPrefix } from "../certificates/managed-certificate.ts";
import { signingRequest, usableKey } from "../certificates/request-certificate.ts";
import { wantedClientCertificate } from "../certificates/wanted-certificate.ts";
import { NodeIdentity } from "../connection/node-identity.ts";
import { ServerClock } from "../connection/server-clock.ts";
import { bundleSelector, mostBundles } from "../files/trust-bundle-follower.ts";

/** The identity of the agent that asks. */
export interface CheckIdentity extends SavedClientCertificate {
  readonly settings: AgentSettings;
  readonly version: string;
}

/**
 * Whether a server lets the agent request its client certificate: asks for it without the request being stored. Rejects with the server's
 * reason when it does not, and unless the server answers the first question of every agent.
 */
export const checkServer = (identity: CheckIdentity): Promise<CheckFinding> =>
  asAgent(identity, async (client, names) => {
    const { settings, pendingKey } = identity;
    const { nodeName, certificateLifetimeSeconds: lifetimeSeconds } = settings;
    const wanted = wantedClientCertificate(names, nodeName);
    // A token for one use may already be for the key of a request that waits.
    const kept = usableKey(pendingKey, wanted.keyType);
    const privateKey = kept === undefined ? generatePrivateKey(wanted.keyType) : parsePrivateKeyPem(kept);
    const request = signingRequest({ wanted, lifetimeSeconds, requestPrefix: nodeRequestPrefix, privateKey });
    const requests = client.resource(certificateSigningRequestResource(names));
    await ignoreCodes([409], requests.create(request, { isDryRun: true }));
    return ok;
  });

async function asAgent(
  { settings, pair, version }: CheckIdentity,
  run: (client: ApiClient, names: Names) => Promise<CheckFinding>,
): Promise<CheckFinding> {
  const identity = new NodeIdentity({
    settings,
    serverClock: new ServerClock({ local: systemClock, onSkew: () => {} }),
    monotonic: monotonicClock,
    sleep,
    userAgent: `signet-agent/${version}`,
  });
  if (pair !== undefined) identity.useCertificate(pair);
  try {
    const client = identity.requestClient();
    if (client === undefined) throw new Error(identity.missingCredential);
    const names = await namesOfServer(client);
    if (names === undefined) throw new Error("it offers no authentication API; name a Signet server");
    return await run(client, names);
  } finally {
    identity.connection.close();
  }
}

/** Whether a server that answers has bundles for a file of trust anchors. Rejects as `checkServer` does. */
export async function checkBundles(
  source: TrustBundleFile["source"],
  answering: CheckIdentity | undefined,
): Promise<CheckFinding> {
  if (answering === undefined) return notChecked("no server answers");
  return await asAgent(answering, async (client, names) => {
    try {
      const { items } = await client
        .resource(clusterTrustBundleResource(names))
        .list({ fieldSelector: bundleSelector(source) });
      if (items.length > mostBundles)
        return faulty(`there are more than ${mostBundles}, and the agent follows none of them`);
      return items.length > 0 ? ok : faulty("there is none; check the name: signet trust list shows all");
    } catch (error) {
      if (error instanceof ApiError && error.code === 403) return notChecked("this credential may not look it up");
      throw error;
    }
  });
}
