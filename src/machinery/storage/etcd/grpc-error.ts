/** gRPC's status codes, as far as they are told apart here. */
export const grpcStatus = {
  ok: 0,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** A call that did not succeed, by the server's word or because the server can't be reached. */
export class GrpcError extends Error {
  /** One of gRPC's status codes. */
  readonly code: number;
  /** False when the server has surely not begun to work on the call. */
  readonly mayHaveRun: boolean;

  constructor(
    message: string,
    options: { readonly code: number; readonly mayHaveRun: boolean; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "GrpcError";
    this.code = options.code;
    this.mayHaveRun = options.mayHaveRun;
  }
}
