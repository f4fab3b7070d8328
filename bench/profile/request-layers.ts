import type { CallFrame } from "./call-tree.ts";

/** The parts of the request path, in order, each with its code and its colour in pictures. */
export const requestLayers = {
  "Node.js: TLS, streams": {
    code: /^node:(internal\/)?(tls|_tls|net|stream|js_stream)/,
    colour: "#9db4c0",
  },
  "HTTP/2": { code: /src\/machinery\/http2\//, colour: "#3d7ea6" },
  "HTTP: routing, bodies, answers": { code: /src\/machinery\/(http|api)\//, colour: "#5c9ead" },
  authentication: {
    code: /src\/(machinery\/authentication|features\/(access\/credentials|accounts\/(tokens|credentials)|federation|revocation)|server\/authenticat)/,
    colour: "#e0a458",
  },
  authorization: {
    code: /src\/(machinery\/authorization|features\/(access\/rbac|authorization|nodes\/authorizer))/,
    colour: "#d9728b",
  },
  "schema: decoding, encoding": { code: /src\/machinery\/schema\//, colour: "#8fb339" },
  "registry, ownership, admission": {
    code: /src\/(machinery\/registry|features\/admission)\//,
    colour: "#c6ac8f",
  },
  "X.509": { code: /src\/(pki|features\/certificates)\//, colour: "#b39cd0" },
  "the kinds' own rules": { code: /src\/features\//, colour: "#f2c14e" },
  "storage, caches": { code: /src\/machinery\/storage\/|node_modules\/(lmdb|msgpackr)/, colour: "#70a288" },
  "loops and their clients": { code: /src\/machinery\/(loops|client)\//, colour: "#7a6c5d" },
  "garbage collection": { code: /^\(garbage collector\)$/, colour: "#c8553d" },
  "Node.js: everything else": { code: /^$/, colour: "#d3d3d3" },
} as const;

export type Layer = keyof typeof requestLayers;

const layers = Object.entries(requestLayers) as [Layer, (typeof requestLayers)[Layer]][]; // the keys of a literal

/** The layer of a function. A function of the runtime, such as a signature or a copy, belongs to the layer of its caller. */
export function layerOf({ url, functionName }: CallFrame, caller: Layer): Layer {
  const code = url === "" ? functionName : url;
  const found = layers.find(([, layer]) => layer.code.test(code));
  return found?.[0] ?? caller;
}
