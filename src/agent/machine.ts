import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { release } from "node:os";
import type { Node } from "../features/nodes/resources.ts";

export type NodeSystemInfo = Node["status"]["nodeInfo"];

/** Go's names, which Kubernetes' labels and fields have, where they differ from Node's. */
const goArchitectures = new Map([
  ["x64", "amd64"],
  ["ia32", "386"],
]);
export const operatingSystem: string = process.platform === "win32" ? "windows" : process.platform;
export const architecture: string = goArchitectures.get(process.arch) ?? process.arch;

/** What the machine is. Fields that it does not tell, or not to this user, are empty. */
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
    return ""; // the file is not there on every system, or not for everyone
  }
}

const firstLine = (file: string): string => readText(file).split("\n", 1)[0]?.trim() ?? "";

/** The address that this machine has on its way to a server. Rejects when there is no connection. */
export function addressTowards(server: string, timeoutMilliseconds = 10_000): Promise<string> {
  const { hostname, port } = new URL(server);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 443 : Number(port) });
    socket.setTimeout(timeoutMilliseconds, () => socket.destroy(new Error(`no connection to ${server} in time`)));
    socket.once("error", reject);
    socket.once("connect", () => {
      resolve((socket.localAddress ?? "").replace(/^::ffff:/, ""));
      socket.destroy();
    });
  });
}
