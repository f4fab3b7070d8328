import assert from "node:assert/strict";
import { RetryingClient } from "./retrying-client.ts";
import type { Address } from "./retrying-client.ts";

const path = "/api/v1/namespaces/default/configmaps";
/** How many ConfigMaps each client creates, before and after the stop together. It reads each one, too. */
const createsPerClient = 30;
const busyClients = 8;
/** Clients with an open connection that wait for the beginning of the stop, and send their next request at that moment. */
const waitingClients = 4;
/** The stop begins when so many answers have come. */
const stopAfter = 150;

export interface LoadThroughStop {
  /** Where new connections go. */
  readonly addressOf: () => Address;
  /** Of an administrator. */
  readonly token: string;
  /** Stops a part of the server. Resolves when it has stopped. */
  readonly stop: () => Promise<void>;
}

/**
 * Clients of both protocols create and read ConfigMaps while something stops. Each request must be answered as if nothing
 * had happened, and each object must be created once: a create that was sent twice is answered 409.
 */
export async function loadThroughStop({ addressOf, token, stop }: LoadThroughStop): Promise<void> {
  const failures: string[] = [];
  const clients: RetryingClient[] = [];
  const { promise: stopping, resolve: hasBegun } = Promise.withResolvers<void>();
  let stopped: Promise<void> | undefined;
  let answers = 0;

  const expect = async (
    client: RetryingClient,
    status: number,
    sent: { name: string; body?: string },
  ): Promise<void> => {
    const { name, body } = sent;
    try {
      const got = await client.send({
        method: body === undefined ? "GET" : "POST",
        path: body === undefined ? `${path}/${name}` : path,
        token,
        ...(body !== undefined && { body }),
      });
      if (got !== status) failures.push(`${name}: ${got} instead of ${status}`);
    } catch (error) {
      failures.push(`${name}: ${String(error)} ${String((error as Error).cause)}`);
    }
    answers++;
    if (answers === stopAfter) {
      stopped = stop();
      hasBegun();
    }
  };
  const create = async (client: RetryingClient, name: string): Promise<void> => {
    await expect(client, 201, {
      name,
      body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } }),
    });
    await expect(client, 200, { name });
  };
  const run = async (index: number): Promise<void> => {
    const client = new RetryingClient(index % 2 === 0 ? "HTTP/2" : "HTTP/1.1", addressOf);
    clients.push(client);
    const isWaiting = index >= busyClients;
    await create(client, `c${index}-0`);
    if (isWaiting) await stopping;
    for (let count = 1; count < (isWaiting ? 2 : createsPerClient); count++) await create(client, `c${index}-${count}`);
  };

  await Promise.all(Array.from({ length: busyClients + waitingClients }, (_, index) => run(index)));
  await stopped;
  for (const client of clients) client.close();
  assert.deepEqual(failures, []);
  assert.ok(stopped !== undefined, "nothing was stopped");
}
