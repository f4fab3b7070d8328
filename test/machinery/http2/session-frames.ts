import { flags, frameTypes } from "../../../src/machinery/http2/protocol.ts";
import { headerBlock, requestFields } from "./frame-client.ts";
import type { FrameClient, RawFrame } from "./frame-client.ts";

export const never = (): void => undefined;

/** The only request of a connection, without a body. */
export const request = (fields: readonly (readonly [string, string])[]): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders | flags.endStream,
  streamId: 1,
  payload: headerBlock(fields),
});

/** A GET with more headers. */
export const getWith = (...more: readonly (readonly [string, string])[]): RawFrame =>
  request([...requestFields("GET", "/"), ...more]);

/** Headers after the body of the first stream. */
export const trailers = (fields: readonly (readonly [string, string])[], { isEnd = true } = {}): RawFrame => ({
  type: frameTypes.headers,
  flags: flags.endHeaders | (isEnd ? flags.endStream : 0),
  streamId: 1,
  payload: headerBlock(fields),
});

/** By how many bytes the server has widened a window. 0: that of the connection. */
export const widenedBy = (client: FrameClient, streamId: number): number =>
  client.of("windowUpdate", streamId).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
