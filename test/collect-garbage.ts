import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Collects all garbage at once. An object whose WeakRef was read stays until the next turn of the event loop. */
export const collectGarbage = runInNewContext("gc") as () => void; // what --expose-gc defines
