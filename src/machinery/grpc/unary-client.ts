import { GrpcChannel } from "./grpc-channel.ts";
import type { ChannelOptions } from "./grpc-channel.ts";

/** Calls of a plugin, each with one message and one answer. */
export interface UnaryClient {
  /** `path` is `/<package>.<service>/<method>`. Rejects with GrpcError when the plugin fails, or does not answer in time. */
  call(path: string, message: Uint8Array): Promise<Buffer>;
  close(): void;
}

/** `timeoutMilliseconds` is for each call, and for the connection. */
export type UnaryClientOptions = Pick<ChannelOptions, "url" | "timeoutMilliseconds" | "maximumMessageBytes">;

/** Calls a plugin over one connection, which is opened again for the next call when it was lost. */
export function unaryClient(options: UnaryClientOptions): UnaryClient {
  let channel: GrpcChannel | undefined;
  let connecting: Promise<GrpcChannel> | undefined;
  let isClosed = false;
  const connect = async (): Promise<GrpcChannel> => {
    if (channel?.isOpen === true) return channel;
    connecting ??= GrpcChannel.connect(options).finally(() => (connecting = undefined));
    channel = await connecting;
    if (isClosed) channel.close();
    return channel;
  };
  return {
    async call(path, message) {
      const open = await connect();
      return await open.unary(path, message, options.timeoutMilliseconds);
    },
    close() {
      isClosed = true;
      channel?.close();
    },
  };
}
