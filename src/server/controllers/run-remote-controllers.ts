import type { Log } from "../../machinery/logging/log.ts";
import { systemClock } from "../../machinery/api/clock.ts";
import { CommandFailure } from "../../machinery/command-line/command-failure.ts";
import { connect } from "../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags, ServerConnection } from "../../machinery/command-line/connection/connection.ts";
import { stopSignal } from "../../machinery/command-line/stop-signal.ts";
import { FollowedFiles, followMilliseconds } from "../../machinery/files/followed/followed-files.ts";
import { openProcessLog, openProcessOutput } from "../../machinery/files/lines/process-log.ts";
import { currentCredentials } from "../../machinery/client/https/https-transport.ts";
import { servesGroup } from "../../machinery/client/names-of-server.ts";
import { sendTraces } from "../../machinery/trace-export/send-traces.ts";
import { logTraces } from "../../machinery/tracing/trace-log.ts";
import { reloadOnHangup } from "../settings/reload-settings.ts";
import type { SettingValues } from "../settings/reload-settings.ts";
import { storedResources } from "../served-kinds.ts";
import { followClientTrust } from "../../features/access/followed-client-trust.ts";
import { openApprovalPolicy } from "../../features/certificates/policy/approval-policy.ts";
import type { ControllersStatus, ControllersStatusOptions } from "./controllers-status.ts";
import { openListPublisher, openRemoteSigners } from "./open-remote-signers.ts";
import { controllerList } from "./controller-list.ts";
import type { RemoteControllerConfig } from "../settings/controller-settings.ts";
import { followServerIdentity } from "../../features/certificates/commands/identity-of-server.ts";
import { QueueCounts } from "../../machinery/loops/work-queue.ts";
import { signetVersion } from "../signet-version.ts";
import { startElectedControllers } from "../../machinery/loops/elected-controllers.ts";
import type { ElectedControllers, ElectedState } from "../../machinery/loops/elected-controllers.ts";
import { leaseResource } from "../../features/core/index.ts";
import { endProcess } from "../../machinery/end-process.ts";

/** How long requests may continue after the first stop signal. */
const graceMilliseconds = 5_000;

/**
 * Runs the controllers against a server until SIGTERM or SIGINT, and ends at most five seconds after that. Throws UsageError for
 * invalid settings.
 */
export async function runRemoteControllers(
  config: RemoteControllerConfig,
  { connection, readSettings }: { readonly connection: ConnectionFlags; readonly readSettings: () => SettingValues },
): Promise<void> {
  const log = openProcessLog(config.log);
  logTraces(log);
  await sendTraces({ log, service: { name: "signet-controllers", version: signetVersion } });
  const { certificates, metricsAddress } = config;
  await using opened = new AsyncDisposableStack();
  const followed = opened.use(new FollowedFiles({ log, pollMilliseconds: followMilliseconds }));
  // Handles the signal from now on. By default it ends the process, and a start may wait for a long time.
  reloadOnHangup(readSettings(), {
    log,
    read: readSettings,
    apply(logLevel) {
      log.level = logLevel;
      followed.refresh({ isForced: true });
    },
  });
  const policy = openApprovalPolicy(certificates.approvalPolicyFile, followed);
  const queueCounts = new QueueCounts();
  let running: ElectedControllers | undefined;
  const state = (): ElectedState => running?.state() ?? "starting";
  const status = opened.adopt(
    metricsAddress && (await openStatus({ address: metricsAddress, log, queueCounts, state })),
    (listener) => listener?.close(),
  );
  const { client, names, transport } = await connect(connection, {
    observed: (plain) => status?.observed(plain) ?? plain,
    followed,
  });
  opened.adopt(client, () => client.close());
  await refuseOtherServers({ client, names, transport });
  const hasOwnSigners = certificates.signerConfigurationFile !== undefined;
  const clientTrust = opened.adopt(
    hasOwnSigners ? await followClientTrust({ client, names, log }) : undefined,
    (followedTrust) => followedTrust?.stop(),
  );
  const { signers, configured } = openRemoteSigners(certificates, {
    names,
    trustedByServer: () => clientTrust?.authorities(),
    followed,
    clock: systemClock,
    observer: status?.outsideKeys,
  });
  const server = opened.adopt(followServerIdentity(transport, log), (identity) => identity.stop());
  const elected = startElectedControllers({
    names,
    queueCounts,
    client,
    leases: client.resource(leaseResource(names), names.namespaces.system),
    clock: systemClock,
    log,
    controllers: controllerList({
      settings: config,
      names,
      definitions: storedResources(names),
      caCertificates: () => currentCredentials(transport).caCertificates ?? "",
      serverAnchors: undefined,
      isRetired: () => false,
      signers,
      listPublisher: await openListPublisher(certificates, { signers, configured }),
      policy,
      server: () => server.current(),
    }),
    isElected: config.isElected,
  });
  running = opened.adopt(elected, () => elected.stop());
  openProcessOutput()(`controllers follow ${transport.server}`);
  await untilStopped(log);
  endAfterGrace(log);
}

/** Imported only when it is needed, because it loads everything for metrics. */
const openStatus = async (options: ControllersStatusOptions): Promise<ControllersStatus> =>
  (await import("./controllers-status.ts")).openControllersStatus(options);

/** Waits for a signal, and keeps the process alive, which the timers of a standby and a watch that reconnects do not. */
async function untilStopped(log: Log): Promise<void> {
  const alive = setInterval(() => {}, 2 ** 30);
  log.info({ signal: await stopSignal(() => endProcess(1)) }, "stopping");
  clearInterval(alive);
}

/** Rejects with CommandFailure for a server that is not Signet. */
async function refuseOtherServers({
  client,
  names,
  transport,
}: Pick<ServerConnection, "client" | "names" | "transport">): Promise<void> {
  const group = names.group("signet");
  if (await servesGroup(client, group)) return;
  const reason = `${transport.server} does not serve ${group}, so it is not a Signet server`;
  throw new CommandFailure(`${reason}; check the kubeconfig`, { exit: "unreachable" });
}

/** Ends the process if it still waits for the server after the grace period. */
function endAfterGrace(log: Log): void {
  setTimeout(() => {
    log.warn({}, "the server has not answered in five seconds; a lease that this process holds expires by itself");
    endProcess(0);
  }, graceMilliseconds).unref();
}
