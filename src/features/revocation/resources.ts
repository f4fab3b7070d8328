import { resourceType } from "../../machinery/api/resource-type.ts";
import type { Revocation } from "./revocations.ts";

export const revocationResource = resourceType<Revocation>({ group: "signet", kind: "Revocation", scope: "Cluster" });
export type { Revocation } from "./revocations.ts";
export type { CertificateReview } from "./certificate-reviews.ts";
