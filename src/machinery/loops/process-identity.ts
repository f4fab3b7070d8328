import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "../api/thrown-error.ts";

/**
 * A value that distinguishes the processes of this running system from those of other machines, containers and earlier
 * boots. Undefined when the system does not provide it.
 */
function systemId(): string | undefined {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    const processSpace = readlinkSync("/proc/self/ns/pid");
    return createHash("sha256").update(`${hostname()}/${bootId}/${processSpace}`).digest("hex").slice(0, 12);
  } catch {
    return undefined;
  }
}

/** A name for this process that no other process ever has. */
export const processIdentity = (): string =>
  `${hostname()}_${systemId() ?? "unknown"}_${process.pid}_${randomBytes(4).toString("hex")}`;

/** Whether the process with this name has certainly ended: it ran on this system and no longer exists. */
export function hasProcessEnded(identity: string): boolean {
  const [, system, pid] = /_([0-9a-f]{12})_(\d{1,10})_[0-9a-f]{8}$/.exec(identity) ?? [];
  if (system === undefined || system !== systemId()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errorCode(error) === "ESRCH";
  }
}
