import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

type Database = "passwd" | "group";

/**
 * The users and groups of the machine. Each name is looked up only once: many files may belong to one user, and a directory service may
 * take seconds, during which the process is blocked.
 */
export class SystemAccounts {
  readonly #ids = { passwd: new Map<string, number | undefined>(), group: new Map<string, number | undefined>() };

  /** The ID of a user, whose name may also be its ID as text. Undefined when there is no such user. */
  userId(name: string): number | undefined {
    return this.#idOf(name, "passwd");
  }

  /** The ID of a group, as `userId` does. */
  groupId(name: string): number | undefined {
    return this.#idOf(name, "group");
  }

  #idOf(name: string, database: Database): number | undefined {
    const ids = this.#ids[database];
    if (!ids.has(name)) ids.set(name, idOf(name, database));
    return ids.get(name);
  }
}

/** The highest ID: the next number has another meaning in chown(2). */
const highestId = 2 ** 32 - 2;

function idOf(name: string, database: Database): number | undefined {
  if (/^\d{1,10}$/.test(name)) return Number(name) <= highestId ? Number(name) : undefined;
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/.test(name)) return undefined;
  const id = entryOf(name, database)?.split(":")[2];
  return id === undefined ? undefined : Number(id);
}

/**
 * Looks up an account with getent(1), which also knows the users of directory services. Small images lack getent: then /etc/passwd or
 * /etc/group is read.
 */
function entryOf(name: string, database: Database): string | undefined {
  const { stdout, error } = spawnSync("getent", [database, name], { encoding: "utf8", timeout: 10_000 });
  if (error === undefined) return stdout === "" ? undefined : stdout;
  const lines = readFileSync(`/etc/${database}`, "utf8").split("\n");
  return lines.find((line) => line.startsWith(`${name}:`));
}
