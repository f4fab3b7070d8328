import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { rmSync } from "node:fs";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import type { sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import {
  bytesType,
  ProtobufReader,
  ProtobufWriter,
  varintType,
} from "../../../../src/machinery/schema/protobuf-wire.ts";
import { generateSigningKeyPem } from "../../../../src/features/accounts/tokens/token-key.ts";

export interface SignerKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly isExcluded?: boolean;
}

export const newSignerKey = (kid: string, isExcluded = false): SignerKey => ({
  kid,
  privateKey: createPrivateKey(generateSigningKeyPem("ES256")),
  isExcluded,
});

/** An external signer (`k8s.io/externaljwt`) on gRPC's own library. Tests change what it has and how it behaves. */
export class JwtSigner {
  readonly #socket: string;
  #server: Server | undefined;
  /** The first one signs. All are published. */
  keys: readonly SignerKey[] = [newSignerKey("first")];
  refreshSeconds = 3600;
  maximumTokenExpirationSeconds = 86_400;
  /** forges: another key than it says makes the signatures. silent: it takes calls, and does not answer. */
  behaviour: "works" | "fails" | "forges" | "silent" = "works";
  readonly calls = { Sign: 0, FetchKeys: 0, Metadata: 0 };

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** `version`: of the protocol. */
  async start(version = "v1"): Promise<void> {
    const server = new Server();
    const method = (name: keyof JwtSigner["calls"], answer: (request: Buffer) => Buffer) => ({
      path: `/${version}.ExternalJWTSigner/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
      handler: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
        this.calls[name] += 1;
        if (this.behaviour === "silent") return;
        if (this.behaviour === "fails") return done({ code: status.INTERNAL, details: "the HSM is on fire" });
        done(null, answer(call.request));
      },
    });
    const methods = {
      Sign: method("Sign", (request) => this.#sign(request)),
      FetchKeys: method("FetchKeys", () => this.#publish()),
      Metadata: method("Metadata", () => message((writer) => number(writer, 1, this.maximumTokenExpirationSeconds))),
    };
    server.addService(
      methods,
      Object.fromEntries(Object.entries(methods).map(([name, { handler }]) => [name, handler])),
    );
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix://${this.#socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
    });
    this.#server = server;
  }

  /** Ends it at once, with its connections. */
  stop(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
    rmSync(this.#socket, { force: true });
  }

  #sign(request: Buffer): Buffer {
    const reader = new ProtobufReader(request);
    let claims = "";
    while (reader.nextField()) claims = reader.string();
    const [key] = this.keys;
    if (key === undefined) throw new Error("no key");
    const header = Buffer.from(JSON.stringify({ alg: "ES256", kid: key.kid, typ: "JWT" })).toString("base64url");
    const { privateKey } = this.behaviour === "forges" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : key;
    const signature = sign("sha256", Buffer.from(`${header}.${claims}`), {
      key: privateKey,
      dsaEncoding: "ieee-p1363",
    });
    return message((writer) => {
      text(writer, 2, signature.toString("base64url"));
      text(writer, 1, header);
    });
  }

  #publish(): Buffer {
    return message((writer) => {
      number(writer, 3, this.refreshSeconds);
      writer.message(() => number(writer, 1, 1_767_225_600));
      writer.tag(2, bytesType);
      for (const { kid, privateKey, isExcluded } of this.keys.toReversed()) {
        writer.message(() => {
          if (isExcluded === true) number(writer, 3, 1);
          writer.bytes(createPublicKey(privateKey).export({ type: "spki", format: "der" }));
          writer.tag(2, bytesType);
          text(writer, 1, kid);
        });
        writer.tag(1, bytesType);
      }
    });
  }
}

function message(fill: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter();
  fill(writer);
  return writer.finish();
}

function text(writer: ProtobufWriter, field: number, value: string): void {
  writer.string(value);
  writer.tag(field, bytesType);
}

function number(writer: ProtobufWriter, field: number, value: number): void {
  writer.varint(value);
  writer.tag(field, varintType);
}
