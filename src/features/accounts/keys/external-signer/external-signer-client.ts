import { noBytes } from "../../../../machinery/api/bytes/no-bytes.ts";
import { GrpcError, grpcStatus, grpcStatusName } from "../../../../machinery/grpc/grpc-error.ts";
import { unaryClient } from "../../../../machinery/grpc/grpc-channel.ts";
import type { OutsideKeyObserver } from "../../../../machinery/keys/outside-keys.ts";
import {
  decodeFetchKeysAnswer,
  decodeMetadataAnswer,
  decodeSignAnswer,
  encodeSignRequest,
} from "./external-signer-messages.ts";
import type { FetchKeysAnswer, SignAnswer } from "./external-signer-messages.ts";

/** Calls a program that has the token keys (upstream: KEP-740). Every call rejects when it fails, or is not answered in time. */
export interface ExternalSignerClient {
  /** `claims`: the second part of the token, base64url-encoded. */
  sign(claims: string): Promise<SignAnswer>;
  fetchKeys(): Promise<FetchKeysAnswer>;
  metadata(): Promise<{ readonly maximumTokenExpirationSeconds: number }>;
  close(): void;
}

/** The gRPC packages under which signers serve the same messages, the newest first. */
const packages = ["v1", "v1beta1", "v1alpha1"] as const;
/** The timeout of each call. A client waits for the token, and a signer on the same machine that takes longer does not work. */
const timeoutMilliseconds = 5_000;
/** Enough for a thousand RSA keys. */
const maximumMessageBytes = 2 ** 20;

/** Calls the signer that listens on a Unix socket. The observer receives every call. */
export function externalSignerClient(socket: string, observer?: OutsideKeyObserver): ExternalSignerClient {
  const client = unaryClient({ url: `unix://${socket}`, timeoutMilliseconds, maximumMessageBytes });
  let served: (typeof packages)[number] = "v1";
  const callMethod = (method: string, message: Buffer): Promise<Buffer> => {
    const begun = performance.now();
    return reportingStatus(
      () => client.call(method, message),
      (code) => observer?.onSignerCall({ method, code, seconds: (performance.now() - begun) / 1000 }),
    );
  };
  const callServed = async (method: string, message: Buffer): Promise<Buffer> => {
    let failure: unknown;
    // The signer may have been replaced by an older or newer program.
    for (const version of new Set([served, ...packages])) {
      try {
        const answer = await callMethod(`/${version}.ExternalJWTSigner/${method}`, message);
        served = version;
        return answer;
      } catch (error) {
        failure = error;
        if (!(error instanceof GrpcError) || error.code !== grpcStatus.unimplemented) break;
      }
    }
    throw failure;
  };
  /** Calls once more when the connection was lost: the signer may have been restarted since the last call. */
  const call = (method: string, message = noBytes): Promise<Buffer> =>
    callServed(method, message).catch((error: unknown) => {
      if (error instanceof GrpcError && error.code === grpcStatus.unavailable) return callServed(method, message);
      throw error;
    });
  return {
    sign: async (claims) => decodeSignAnswer(await call("Sign", encodeSignRequest(claims))),
    fetchKeys: () =>
      reportingStatus(
        async () => decodeFetchKeysAnswer(await call("FetchKeys")),
        (code, answer) => observer?.onKeysFetched(code, answer?.dataTimestampSeconds),
      ),
    metadata: async () => decodeMetadataAnswer(await call("Metadata")),
    close: () => client.close(),
  };
}

/** Reports the name of the gRPC status with which a call ended, and its result if it has one. */
async function reportingStatus<T>(call: () => Promise<T>, report: (code: string, result?: T) => void): Promise<T> {
  try {
    const result = await call();
    report("OK", result);
    return result;
  } catch (error) {
    report(grpcStatusName(error));
    throw error;
  }
}
