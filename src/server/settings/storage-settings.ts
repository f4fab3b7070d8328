import { isLoopback } from "../../machinery/api/addresses/is-loopback.ts";
import { withoutUrlPasswords } from "../../machinery/api/addresses/without-url-passwords.ts";
import { keyPairFiles, UsageError } from "../../machinery/command-line/settings/flag.ts";
import type { FlagValues, Flags, KeyPairFiles } from "../../machinery/command-line/settings/flag.ts";

export const storageFlags = {
  "data-dir": {
    type: "string",
    default: "./.signet",
    help: "Directory for objects, CAs, keys and admin.kubeconfig.",
  },
  "etcd-servers": {
    type: "strings",
    help: "URLs of the etcd members, for several replicas of the server. Default: the store in the data directory.",
  },
  "etcd-cafile": { type: "file", help: "PEM bundle of CAs for etcd's certificates. Default: the system's CAs." },
  "etcd-certfile": { type: "file", help: "PEM client certificate for etcd." },
  "etcd-keyfile": { type: "file", help: "PEM private key of that certificate." },
  "etcd-prefix": { type: "string", default: "/signet", help: "The prefix of all keys in etcd." },
  "etcd-allow-plaintext": {
    type: "boolean",
    default: false,
    help: "Allow http:// for members of etcd on other machines: any machine between can read and change all objects.",
  },
  "etcd-compaction-interval": {
    type: "duration",
    default: "5m",
    help:
      "How often this server lets etcd forget revisions that are older. 0: never, because something else compacts etcd, such as its " +
      "--auto-compaction-retention.",
  },
} as const satisfies Flags;

/** Where objects are stored. */
export type StorageSettings =
  /** The store in the data directory. */
  | { readonly type: "own" }
  | {
      readonly type: "etcd";
      /** `http(s)://host:port` of each member, all with the same scheme. */
      readonly servers: readonly string[];
      /** The file of the CAs that verify etcd's certificates. Undefined: the system's CAs. */
      readonly authorityFile: string | undefined;
      readonly clientCertificate: KeyPairFiles | undefined;
      /** The prefix of all keys, without a slash at the end. */
      readonly prefix: string;
      /** How often old revisions are compacted. 0: another program compacts. */
      readonly compactionMilliseconds: number;
    };

/** Throws UsageError for invalid settings. */
export function storageSettings(values: FlagValues<typeof storageFlags>): StorageSettings {
  if (values["etcd-servers"].length === 0) {
    const alone = (["etcd-cafile", "etcd-certfile", "etcd-keyfile"] as const).find(
      (flag) => values[flag] !== undefined,
    );
    if (alone === undefined) return { type: "own" };
    throw new UsageError(`--${alone}: give --etcd-servers too; without it, the store is in the data directory`);
  }
  return {
    type: "etcd",
    servers: etcdServers(values["etcd-servers"], { allowsPlaintext: values["etcd-allow-plaintext"] }),
    authorityFile: values["etcd-cafile"],
    clientCertificate: keyPairFiles(values, { certificateFlag: "etcd-certfile", keyFlag: "etcd-keyfile" }),
    prefix: etcdPrefix(values["etcd-prefix"]),
    compactionMilliseconds: compactionInterval(values["etcd-compaction-interval"]),
  };
}

/** Throws UsageError for an interval so short that clients still use the revisions, or so long that the history grows too large. */
function compactionInterval(milliseconds: number): number {
  if (milliseconds === 0 || (milliseconds >= 60_000 && milliseconds <= 24 * 3_600_000)) return milliseconds;
  throw new UsageError("--etcd-compaction-interval: must be 0, or from 1m to 24h");
}

/** Whether others can read and change the traffic between this machine and a member of etcd. */
export const isOpenToTheNetwork = (server: string): boolean =>
  server.startsWith("http:") && !isLoopback(new URL(server).hostname);

function etcdServers(given: readonly string[], { allowsPlaintext }: { readonly allowsPlaintext: boolean }): string[] {
  const servers = given.map((server) => {
    const url = URL.canParse(server) ? new URL(server) : undefined;
    if (
      url === undefined ||
      !["http:", "https:"].includes(url.protocol) ||
      url.pathname !== "/" ||
      !namesPort(server)
    ) {
      const shown = JSON.stringify(withoutUrlPasswords(server));
      throw new UsageError(`--etcd-servers: ${shown} must be http://host:port or https://host:port`);
    }
    return url.origin;
  });
  if (new Set(servers.map((server) => new URL(server).protocol)).size > 1) {
    throw new UsageError("--etcd-servers: use the same scheme for every member, http or https");
  }
  const open = servers.find(isOpenToTheNetwork);
  if (open !== undefined && !allowsPlaintext) {
    throw new UsageError(
      `--etcd-servers: ${open} is another machine, and http sends it every object in plain: use https:// with ` +
        "--etcd-cafile, --etcd-certfile and --etcd-keyfile, or accept it with --etcd-allow-plaintext",
    );
  }
  return servers;
}

/** Whether a URL names a port: also the one of its scheme, which `URL` leaves out. */
const namesPort = (url: string): boolean => new URL(url).port !== "" || /:\d+\/?$/.test(url);

function etcdPrefix(given: string): string {
  const prefix = given.replace(/\/+$/, "");
  if (!/^\/[\w./-]+$/.test(prefix)) {
    throw new UsageError("--etcd-prefix: must be a path of letters and digits, such as /signet");
  }
  return prefix;
}
