import { reasonCodes } from "../../pki/revocation-reason.ts";

/** Why a credential is revoked (RFC 5280 section 5.3.1). */
export const revocationReasons: readonly string[] = Object.keys(reasonCodes);
