import { once } from "node:events";
import { createServer } from "node:net";
import type { Server } from "node:net";

// Below the ports that a system gives to connections and to listeners on port 0 (Linux: 32768 and above, RFC 6335: 49152
// and above): such a port may be taken before the program that got its number listens, or while that program restarts.
const firstPort = 12_000;
const rangeLength = 50;
const rangeCount = 400;

let ownRange: Promise<number> | undefined;
let taken = 0;

/** Ports of 127.0.0.1 on which no process listens, for programs that get their port as a setting. Each comes once in 49. */
export async function freePorts(count: number): Promise<number[]> {
  ownRange ??= claimPorts(process.pid % rangeCount);
  const first = await ownRange;
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === rangeLength) throw new Error(`no port is free from ${first} to ${first + rangeLength - 1}`);
    const port = first + 1 + (taken++ % (rangeLength - 1));
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/** One of {@link freePorts}. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/**
 * The first port of a range that no other process claims, until this one ends: it listens on that port. The search begins at
 * the range of this number: processes that run at the same time may have numbers that are a multiple of the count apart.
 */
export async function claimPorts(range: number): Promise<number> {
  for (let tries = 0; tries < rangeCount; tries++) {
    const port = firstPort + ((range + tries) % rangeCount) * rangeLength;
    const claim = await listenOn(port);
    if (claim === undefined) continue;
    claim.unref();
    return port;
  }
  throw new Error(`all ports from ${firstPort} on are claimed`);
}

async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port);
  if (server === undefined) return false;
  await once(server.close(), "close");
  return true;
}

async function listenOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
