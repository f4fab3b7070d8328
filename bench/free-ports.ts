import { once } from "node:events";
import { createServer } from "node:net";

// Below the ports that a system gives to connections and to listeners on port 0 (Linux: 32768 and above, RFC 6335: 49152
// and above): one of those may be taken before the program that was told of it listens, or while it is restarted.
const firstPort = 12_000;
const rangeLength = 50;
const rangeCount = 400;

// Processes that run at the same time have numbers, and so ranges, of their own.
const ownRange = firstPort + (process.pid % rangeCount) * rangeLength;
let taken = 0;

/** Ports of 127.0.0.1 on which no process listens, for programs that are told their port. Each comes once in fifty. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries === rangeLength) throw new Error(`no port is free from ${ownRange} to ${ownRange + rangeLength - 1}`);
    const port = ownRange + (taken++ % rangeLength);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/** One of {@link freePorts}. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  await once(server.close(), "close");
  return true;
}
