import type { HttpsTransportOptions } from "../machinery/client/https-transport.ts";
import { identityOfServer } from "../features/certificates/commands/identity-of-server.ts";
import type { ControllerLog } from "../machinery/loops/controller.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";

/** How often the server is asked for its certificate: it may have got more names. */
const intervalMilliseconds = 60_000;

export interface FollowedServerIdentity {
  /** What was seen last. Throws while nothing was: whoever waits for it tries again. */
  current(): ServerIdentity;
  stop(): void;
}

/** Learns from a server's own certificate, now and every minute, how its clients know it. */
export function followServerIdentity(transport: HttpsTransportOptions, log: ControllerLog): FollowedServerIdentity {
  let known: ServerIdentity | undefined;
  const look = (): void => {
    identityOfServer(transport).then(
      (seen) => {
        known = seen;
      },
      (error: unknown) =>
        log.error(
          { error: error instanceof Error ? error.message : String(error) },
          "cannot learn the server's names from its certificate",
        ),
    );
  };
  look();
  const timer = setInterval(look, intervalMilliseconds);
  timer.unref();
  return {
    current: () => {
      if (known === undefined) throw new Error("the API server's own names are not known yet");
      return known;
    },
    stop: () => clearInterval(timer),
  };
}
