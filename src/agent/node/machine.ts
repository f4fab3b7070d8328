import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { release } from "node:os";
import type { Node } from "../../features/nodes/resources.ts";
import { unmappedAddress } from "../../machinery/api/addresses/unmapped-address.ts";
import { addressOf } from "../../machinery/api/addresses/url-host.ts";

export type NodeSystemInfo = Node["status"]["nodeInfo"];

/** Kubernetes uses Go's names. These differ from those of Node.js. */
const goArchitectures = new Map([
  ["x64", "amd64"],
  ["ia32", "386"],
]);
export const operatingSystem: string = process.platform === "win32" ? "windows" : process.platform;
export const architecture: string = goArchitectures.get(process.arch) ?? process.arch;

/** Describes the machine. Fields that this user cannot read are empty. */
export function nodeSystemInfo(agentVersion: string): NodeSystemInfo {
  const machineId = firstLine("/etc/machine-id");
  return {
    machineID: machineId,
    systemUUID: firstLine("/sys/class/dmi/id/product_uuid") || machineId,
    bootID: firstLine("/proc/sys/kernel/random/boot_id"),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readText("/etc/os-release"))?.[1] ?? "",
    containerRuntimeVersion: "",
    kubeletVersion: agentVersion,
    kubeProxyVersion: "",
    operatingSystem,
    architecture,
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // not every system has the file, and not every user may read it
  }
}

const firstLine = (file: string): string => readText(file).split("\n", 1)[0]?.trim() ?? "";

const connectMilliseconds = 10_000;

/**
 * The address of this machine from which it reaches one of the servers: the first that answers. Rejects when none answers, and when
 * `signal` aborts.
 */
export async function addressTowards(servers: readonly string[], signal: AbortSignal): Promise<string> {
  const failures: unknown[] = [];
  for (const server of servers) {
    signal.throwIfAborted();
    try {
      return await localAddress(server, signal);
    } catch (error) {
      failures.push(error);
    }
  }
  throw failures.length === 1 ? failures[0] : new AggregateError(failures, "none of the servers can be reached");
}

function localAddress(server: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...addressOf(server), signal });
    socket.setTimeout(connectMilliseconds, () =>
      socket.destroy(new Error(`no connection to ${server}: name the machine's addresses with --node-ip`)),
    );
    socket.once("error", reject);
    socket.once("connect", () => {
      resolve(unmappedAddress(socket.localAddress ?? ""));
      socket.destroy();
    });
  });
}
