/** The gRPC status codes that the store distinguishes. */
export const grpcStatus = {
  canceled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
} as const;

/** The names of all gRPC status codes, in their order, as upstream's metrics have them. */
const statusNames = [
  ...["OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists"],
  ...["PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented"],
  ...["Internal", "Unavailable", "DataLoss", "Unauthenticated"],
];

/** The name of the status of a failed call. `Unknown` for other errors, and for codes that gRPC does not have. */
export const grpcStatusName = (error: unknown): string =>
  (error instanceof GrpcError ? statusNames[error.code] : undefined) ?? "Unknown";

/** A failed call: the server reported a failure, or could not be reached. */
export class GrpcError extends Error {
  override readonly name: string = "GrpcError";
  /** A gRPC status code. */
  readonly code: number;
  /** False only when the server has certainly not started the call. */
  readonly mayHaveRun: boolean;

  constructor(
    message: string,
    options: { readonly code: number; readonly mayHaveRun: boolean; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = options.code;
    this.mayHaveRun = options.mayHaveRun;
  }
}

/**
 * An answer arrives, but has more bytes or takes more time than allowed. The connection works, so the caller can ask for less.
 */
export class AnswerTooLong extends GrpcError {}

/** Nothing came for a call in time. The server may have given up only this connection. */
export class Unanswered extends GrpcError {}

/** The error of a server that can't be reached, or that has ended the connection. */
export const unavailable = (
  message: string,
  options: { readonly mayHaveRun: boolean; readonly cause?: unknown },
): GrpcError => new GrpcError(message, { code: grpcStatus.unavailable, ...options });
