import { clusterTrustBundleResource } from "../../features/certificates/resources.ts";
import { ApiError } from "../../machinery/api/api-error.ts";
import { monotonicClock, sleep, systemClock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { namesOfServer } from "../../machinery/client/names-of-server.ts";
import { postReview } from "../../machinery/client/post-review.ts";
import type { AgentSettings, TrustBundleFile } from "../agent-settings.ts";
import { faulty, notChecked, ok } from "./check-finding.ts";
import type { CheckFinding } from "./check-finding.ts";
import type { KeyPair } from "../certificates/key-pair.ts";
import { NodeIdentity } from "../connection/node-identity.ts";
import { ServerClock } from "../connection/server-clock.ts";
import { bundleSelector, mostBundles } from "../files/trust-bundle-follower.ts";

/** The identity of the agent that asks. */
export interface CheckIdentity {
  readonly settings: AgentSettings;
  /** The client certificate that the agent has now. */
  readonly pair: KeyPair | undefined;
  readonly version: string;
}

/** Whether a server lets the agent request certificates. Rejects unless the server answers the first question of every agent. */
export const checkServer = (identity: CheckIdentity): Promise<CheckFinding> => asAgent(identity, mayRequest);

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

async function mayRequest(client: ApiClient, names: Names): Promise<CheckFinding> {
  const resourceAttributes = {
    verb: "create",
    group: names.group("certificates"),
    resource: "certificatesigningrequests",
  };
  const review = await postReview<{ readonly status?: { readonly allowed?: boolean } }>(client, {
    group: names.group("authorization"),
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  });
  if (review.status?.allowed === true) return ok;
  return faulty(
    "it accepts this credential, which may not request certificates; signet bootstrap-token create makes one that may",
  );
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
