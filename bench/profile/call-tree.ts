import { layerOf } from "./request-layers.ts";
import type { Layer } from "./request-layers.ts";

/** A function in V8's format. The functions that V8 makes up, such as `(idle)`, have no url. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** The used part of the answer of the inspector's `Profiler.stop`. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  /** The node that ran at each sample. */
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** A function below the functions that called it, with the processor time of itself and of all that it called. */
export interface Call {
  readonly frame: CallFrame;
  readonly layer: Layer;
  selfMicroseconds: number;
  totalMicroseconds: number;
  readonly calls: Map<string, Call>;
}

/** The functions that ran, from the outermost inwards. The time in which the thread waited is left out. */
export function callTree({ nodes, samples, timeDeltas }: CpuProfile): Call {
  const microseconds = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    // The time until the next sample belongs to this sample.
    microseconds.set(id, (microseconds.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0));
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const [first] = nodes;
  if (first === undefined) throw new Error("the profile is empty");
  const root = newCall(first.callFrame, "Node.js: everything else");
  const add = (id: number, caller: Call): number => {
    const node = byId.get(id);
    if (node === undefined || node.callFrame.functionName === "(idle)") return 0;
    const { functionName, url } = node.callFrame;
    const key = `${functionName} ${url}`;
    const call = caller.calls.get(key) ?? newCall(node.callFrame, layerOf(node.callFrame, caller.layer));
    caller.calls.set(key, call);
    const self = microseconds.get(id) ?? 0;
    const total = (node.children ?? []).reduce((sum, child) => sum + add(child, call), self);
    call.selfMicroseconds += self;
    call.totalMicroseconds += total;
    return total;
  };
  root.totalMicroseconds = (first.children ?? []).reduce((sum, child) => sum + add(child, root), 0);
  return root;
}

const newCall = (frame: CallFrame, layer: Layer): Call => ({
  frame,
  layer,
  selfMicroseconds: 0,
  totalMicroseconds: 0,
  calls: new Map(),
});

/** The time of each layer. The sum is the whole tree's. */
export function microsecondsByLayer(root: Call): ReadonlyMap<Layer, number> {
  const found = new Map<Layer, number>();
  const waiting = [root];
  for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
    found.set(call.layer, (found.get(call.layer) ?? 0) + call.selfMicroseconds);
    waiting.push(...call.calls.values());
  }
  return found;
}
