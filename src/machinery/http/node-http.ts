import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * The module `node:http`. An `import` of it reads each of its members, and one of these loads the WebSocket client of
 * Node.js with all that belongs to it: 900 KB of source that Signet does not use.
 */
const http = process.getBuiltinModule("node:http");

export const { createServer, request } = http;

export const newServerResponse = (incoming: IncomingMessage): ServerResponse => new http.ServerResponse(incoming);

/** Whether an answer still has the connection on which the request came. Node.js says it only in a property without a type. */
export const isBehindAnswer = ({ socket }: IncomingMessage): boolean =>
  "_httpMessage" in socket && socket._httpMessage !== null;
