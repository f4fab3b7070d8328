import { monotonicClock, sleep, systemClock, timestamp } from "../../machinery/api/clock.ts";
import { connect } from "../../machinery/command-line/connection/connection.ts";
import type { ConnectionFlags } from "../../machinery/command-line/connection/connection.ts";
import { interruptible } from "../../machinery/command-line/interruptible.ts";
import { printable } from "../../machinery/command-line/output/printable.ts";
import { openProcessLog } from "../../machinery/files/lines/process-log.ts";
import { approvalAdvice } from "../certificates/approval-advice.ts";
import { obtainCertificate } from "./issue-certificate.ts";
import type { IssueOrder } from "./issue-certificate.ts";
import { logSkew, ServerClock, setsClock } from "../connection/server-clock.ts";
import type { Log } from "../../machinery/logging/log.ts";

/** The command `signet certificates issue`. */
export type IssueProgram = IssueOrder & { readonly connection: ConnectionFlags };

/**
 * Obtains a certificate, or keeps it renewed until SIGINT or SIGTERM. A second signal ends the process at once. Throws
 * CommandFailure, or what the connection throws.
 */
export async function runIssueProgram(program: IssueProgram): Promise<void> {
  const log = program.isRenewed ? openProcessLog({ level: "info", format: undefined }) : plainLog(program);
  const serverClock = new ServerClock({ local: systemClock, onSkew: (skew) => logSkew(skew, log) });
  const toServer = (): ReturnType<typeof connect> =>
    connect(program.connection, {
      observed: (transport) => setsClock(transport, serverClock),
    });
  let connection = await toServer();
  let reconnection = Promise.resolve();
  /** Connects again, because the kubeconfig may have other credentials by now. */
  const reconnect = async (): Promise<void> => {
    try {
      const next = await toServer();
      connection.client.close();
      connection = next;
    } catch {
      // The manager logs why the server cannot be used, and tries again.
    }
  };
  try {
    const { names, timeoutMilliseconds } = connection;
    const left = `the same command continues, with the same key and request for ${program.name}`;
    const certificate = await interruptible(left, (signal) =>
      obtainCertificate(program, {
        names,
        client: () => connection.client,
        timeoutMilliseconds,
        clock: serverClock,
        monotonic: monotonicClock,
        random: Math.random,
        sleep,
        log,
        onFailed: () => {
          if (program.isRenewed) reconnection = reconnection.then(reconnect);
        },
        signal,
      }),
    );
    if (program.isRenewed || certificate === undefined) return;
    const end = timestamp(certificate.notAfter);
    console.log(`certificate ${program.name} is in ${printable(program.files.out)}, valid until ${end}`);
  } finally {
    await reconnection;
    connection.client.close();
  }
}

/** A log for a person who waits. It leaves out failures, because the command ends with them. */
function plainLog({ wanted }: IssueProgram): Log {
  const show = (message: string): void => console.error(`signet: ${printable(message)}`);
  return {
    info({ request }) {
      if (typeof request !== "string") return;
      show(`requested ${request}; unless a rule approves it, ${approvalAdvice(wanted.signerName, request)}`);
    },
    warn({ request, skewSeconds }, message) {
      if (request !== undefined || skewSeconds !== undefined) show(message);
    },
    error: () => {},
  };
}
