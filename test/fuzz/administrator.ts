import type { FuzzAnswer } from "./fuzz-request.ts";
import type { FuzzTarget } from "./targets/fuzz-target.ts";

/** Sends valid requests to the server under test, to prepare, check and remove its objects. */
export class Administrator {
  readonly #target: FuzzTarget;

  constructor(target: FuzzTarget) {
    this.#target = target;
  }

  send(
    method: string,
    target: string,
    { body, accept = "application/json", contentType = "application/json" }: SendOptions = {},
  ): Promise<FuzzAnswer> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? "" : JSON.stringify(body));
    return this.#target.send({
      protocol: "http/1.1",
      method,
      target,
      headers: [
        ["authorization", `Bearer ${this.#target.adminToken}`],
        ["accept", accept],
        ...(bytes.length > 0 ? [["content-type", contentType] as const] : []),
      ],
      body: bytes,
      framing: "length",
    });
  }

  /** The parsed body of an answer in JSON. */
  async json<T>(method: string, target: string, options: SendOptions = {}): Promise<T> {
    const { body } = await this.send(method, target, options);
    return JSON.parse(body.toString()) as T;
  }
}

export interface SendOptions {
  /** Bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown;
  readonly accept?: string;
  readonly contentType?: string;
}
