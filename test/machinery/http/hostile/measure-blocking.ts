/**
 * Measures how long one request keeps the event loop to itself: every hostile request of `large-requests`, in processor
 * time of the main thread. Prints the worst and ends with 1 when one takes longer than 250 ms.
 *
 *   node test/machinery/http/hostile/measure-blocking.ts [--bytes N] [--stride N] [--only TEXT]
 */
import { programFlags, text, wholeNumber } from "../../../../tools/program-flags.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { storedResources } from "../../../../src/server/served-kinds.ts";
import { hostileScene } from "./hostile-scene.ts";
import { collectionOf } from "./hostile-targets.ts";
import { largeRequests } from "./large-requests.ts";
import { sampleObject } from "./sample-objects.ts";

const { stride, only, bytes } = programFlags(import.meta.filename, {
  stride: wholeNumber(1),
  only: text(""),
  bytes: wholeNumber(3_000_000),
});
const maximumMilliseconds = 250;

const scene = await hostileScene();
for (const definition of storedResources(platformNames)) {
  await scene.send({
    method: "POST",
    target: collectionOf(definition),
    body: JSON.stringify(sampleObject(definition, "sample")),
  });
}
const measured: {
  readonly milliseconds: number;
  readonly status: number;
  readonly size: number;
  readonly label: string;
}[] = [];
for (const { label, ...request } of largeRequests({ bytes: bytes, stride: stride })) {
  if (!label.includes(only)) continue;
  const before = process.threadCpuUsage();
  const { status, body } = await scene.send(request);
  const { user, system } = process.threadCpuUsage(before);
  if (user + system > maximumMilliseconds * 1000)
    console.log(`${Math.round((user + system) / 1000)} ms  ${status}  ${label}`);
  measured.push({ milliseconds: Math.round((user + system) / 1000), status, size: Object(body).length ?? 0, label });
}
await scene.stop();
measured.sort((left, right) => right.milliseconds - left.milliseconds);
for (const { milliseconds, status, size, label } of measured.slice(0, 60)) {
  console.log(`${String(milliseconds).padStart(6)} ms  ${status}  ${String(size).padStart(8)} bytes  ${label}`);
}
for (const { status, label } of measured.filter((one) => one.status >= 500).slice(0, 10))
  console.log(`${status} ${label}`);
for (const { size, status, label } of measured.filter((one) => one.size > 2 ** 20 && one.status >= 400).slice(0, 10))
  console.log(`${size} bytes ${status} ${label}`);
console.log(`${measured.length} requests`);
process.exitCode = (measured[0]?.milliseconds ?? 0) > maximumMilliseconds ? 1 : 0;
