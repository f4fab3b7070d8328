import { systemClock } from "../machinery/api/clock.ts";
import { connect } from "../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../machinery/command-line/connection.ts";
import type { RemoteControllerOptions } from "../cli/controllers-command.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { openProcessLog } from "../machinery/files/process-log.ts";
import { logTraces } from "../machinery/tracing/trace-log.ts";
import { storedResources } from "./stored-resources.ts";
import { openApprovalPolicy } from "../features/certificates/policy/approval-policy-file.ts";
import { controllerList } from "./controller-list.ts";
import { enabledControllers } from "./enabled-controllers.ts";
import { followServerIdentity } from "./follow-server-identity.ts";
import { startElectedControllers } from "../machinery/loops/elected-controllers.ts";
import { leaseResource } from "../features/core/index.ts";
import { runningSigners } from "../features/certificates/signers/running-signers.ts";
import { openSignerConfiguration } from "../features/certificates/signers/signer-configuration.ts";
import { clientSigners, openAuthorities } from "../features/certificates/authorities/signing-authorities.ts";
import { certificateSettings } from "../features/certificates/settings.ts";

/** Runs the loops against a server until SIGTERM or SIGINT. Throws UsageError for settings that can't be used. */
export async function runRemoteControllers(options: RemoteControllerOptions, flags: ConnectionFlags): Promise<void> {
  const log = openProcessLog(options["log-level"]);
  logTraces(log);
  if (enabledControllers(options.controllers).size === 0) {
    throw new UsageError("--controllers switches every controller off: there is nothing to run");
  }
  const certificateConfig = certificateSettings(options);
  const policy = openApprovalPolicy(certificateConfig.approvalPolicyFile, log);
  const { client, names, transport } = await connect(flags);
  // No fallback: the server's CAs are in its data directory alone.
  const authorityFor = openAuthorities(names, certificateConfig);
  const configured = openSignerConfiguration({
    file: certificateConfig.signerConfigurationFile,
    generated: { type: "refused", reason: "only signet serve has a data directory: give certificateFile and keyFile" },
    clientAuthorities: () => clientSigners(names).flatMap((name) => authorityFor(name)?.path ?? []),
    clock: systemClock,
    log,
  });
  const server = followServerIdentity(transport, log);
  const running = startElectedControllers({
    names,
    client,
    leases: client.resource(leaseResource(names), names.namespaces.system),
    clock: systemClock,
    log,
    controllers: controllerList({
      options,
      certificates: certificateConfig,
      names,
      definitions: storedResources(names),
      caCertificates: transport.caCertificates ?? "",
      signers: runningSigners({
        names,
        authorityFor,
        configured,
        maximumLifetimeSeconds: Math.floor(certificateConfig.maximumLifetimeMilliseconds / 1000),
      }),
      policy,
      server: () => server.current(),
    }),
    isElected: options["leader-elect"],
  });
  console.log(`controllers follow ${transport.server}`);

  // Neither a stand-by's timers nor a watch between two connections keep a process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  const { promise, resolve } = Promise.withResolvers<string>();
  process.once("SIGTERM", resolve).once("SIGINT", resolve);
  log.info({ signal: await promise }, "stopping");
  clearInterval(alive);
  await running.stop();
  server.stop();
  client.close();
}
