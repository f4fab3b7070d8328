/** Reports slow requests and their steps: NODE_OPTIONS="--import ./examples/slow-requests.ts" signet serve */
import { subscribe } from "node:diagnostics_channel";
import type { TracedRequest } from "../src/machinery/tracing/request-trace.ts";

const slowMicroseconds = Number(process.env["SLOW_MICROSECONDS"] ?? 100_000);

subscribe("signet:request", (message) => {
  const { method, uri, user, status, microseconds, steps } = message as TracedRequest; // the channel's only kind of message
  if (microseconds < slowMicroseconds) return;
  console.error(`slow: ${method} ${uri} by ${user ?? "nobody"} answered ${status} after ${microseconds} µs`);
  for (const { step, microseconds: took, decided } of steps) console.error(`  ${step} ${took} µs ${decided}`);
});
