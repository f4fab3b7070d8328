import { UnreadableAnswer } from "../transport.ts";

/** Several interim answers may come before the answer (RFC 9110 section 15.2). Each causes work. */
const maximumInterimAnswers = 100;

/** A request of Node.js, over HTTP/1.1 or HTTP/2. */
interface SentRequest {
  on(event: string, listener: () => void): unknown;
  destroy(error: Error): unknown;
}

/** Destroys a request whose server sends too many interim answers. `event` is the event that reports an interim answer. */
export function boundInterimAnswers(request: SentRequest, event: "information" | "headers"): void {
  let count = 0;
  request.on(event, () => {
    if (++count === maximumInterimAnswers) {
      request.destroy(new UnreadableAnswer("the server sends interim answers without end"));
    }
  });
}
