import { messageOf } from "../machinery/api/message-of.ts";
import type { HttpsTransportOptions } from "../machinery/client/https-transport.ts";
import { identityOfServer } from "../features/certificates/commands/identity-of-server.ts";
import type { ControllerLog } from "../machinery/loops/controller.ts";
import type { ServerIdentity } from "../features/certificates/signers/server-identity.ts";

/** How often to read the serving certificate, because its names may have changed. */
const intervalMilliseconds = 60_000;

export interface FollowedServerIdentity {
  /** The last identity. Throws while there is none: callers retry. */
  current(): ServerIdentity;
  stop(): void;
}

/** Reads the server's names and CAs from its serving certificate, now and every minute. */
export function followServerIdentity(transport: HttpsTransportOptions, log: ControllerLog): FollowedServerIdentity {
  let known: ServerIdentity | undefined;
  const look = (): void => {
    identityOfServer(transport).then(
      (seen) => {
        known = seen;
      },
      (error: unknown) =>
        log.error({ error: messageOf(error) }, "cannot read the server's names from its certificate, will retry"),
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
