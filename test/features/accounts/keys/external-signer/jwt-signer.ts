import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { ProtobufReader, ProtobufWriter } from "../../../../../src/machinery/schema/protobuf/protobuf-wire.ts";
import { GrpcPlugin, internalFailure } from "../../../../grpc-plugin.ts";
import type { AnswerCall } from "../../../../grpc-plugin.ts";
import { generateTokenSigningKeyPem } from "../../../../../src/features/accounts/tokens/token-key.ts";

export interface SignerKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly isExcluded?: boolean;
}

export const newSignerKey = (kid: string, isExcluded = false): SignerKey => ({
  kid,
  privateKey: createPrivateKey(generateTokenSigningKeyPem("ES256")),
  isExcluded,
});

/** An external signer (`k8s.io/externaljwt`) on gRPC's own library. Tests change what it has and how it behaves. */
export class JwtSigner extends GrpcPlugin {
  /** The first key signs. All keys are published. */
  keys: readonly SignerKey[] = [newSignerKey("first")];
  refreshSeconds = 3600;
  maximumTokenExpirationSeconds = 86_400;
  /** forges: it signs with another key than it says. silent: it accepts calls, and does not answer. */
  behaviour: "works" | "fails" | "forges" | "silent" = "works";
  readonly calls = { Sign: 0, FetchKeys: 0, Metadata: 0 };

  /** `version`: of the protocol. */
  async start(version = "v1"): Promise<void> {
    const method =
      (name: keyof JwtSigner["calls"], answer: (request: Buffer) => Buffer): AnswerCall =>
      (request) => {
        this.calls[name] += 1;
        if (this.behaviour === "silent") return undefined;
        if (this.behaviour === "fails") throw internalFailure();
        return answer(request);
      };
    await this.listen(`${version}.ExternalJWTSigner`, {
      Sign: method("Sign", (request) => this.#sign(request)),
      FetchKeys: method("FetchKeys", () => this.#publish()),
      Metadata: method("Metadata", () =>
        message((writer) => writer.varintField(1, this.maximumTokenExpirationSeconds)),
      ),
    });
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
      writer.stringField(2, signature.toString("base64url"));
      writer.stringField(1, header);
    });
  }

  #publish(): Buffer {
    return message((writer) => {
      writer.varintField(3, this.refreshSeconds);
      writer.messageField(2, () => writer.varintField(1, 1_767_225_600));
      for (const { kid, privateKey, isExcluded } of this.keys.toReversed()) {
        writer.messageField(1, () => {
          if (isExcluded === true) writer.varintField(3, 1);
          writer.bytesField(2, createPublicKey(privateKey).export({ type: "spki", format: "der" }));
          writer.stringField(1, kid);
        });
      }
    });
  }
}

function message(fill: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter();
  fill(writer);
  return writer.finish();
}
