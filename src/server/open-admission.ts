import type { Logger } from "pino";
import { connectAdmission } from "../features/admission/feature.ts";
import type { AdmissionConnection, ConnectedAdmission } from "../features/admission/feature.ts";
import { isServer } from "./loopback-users.ts";

/** Admission policies. The server's own writes are exempt: without them it could not start. */
export const openAdmission = ({
  log,
  ...connection
}: Omit<AdmissionConnection, "isExempt" | "onFailure"> & { readonly log: Logger }): Promise<ConnectedAdmission> =>
  connectAdmission({
    ...connection,
    isExempt: isServer,
    onFailure: (error) => log.error({ err: error }, "could not load what evaluates admission policies"),
  });
