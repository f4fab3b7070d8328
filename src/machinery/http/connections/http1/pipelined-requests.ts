import type { Socket } from "node:net";
import { isPausedByServer } from "./node-http.ts";
import { WaitingRequests } from "../waiting-requests.ts";

/**
 * The waiting requests of one HTTP/1.1 connection. One read may bring thousands before the first is answered, and Node.js passes on all
 * of them at once. A single request waits too when many other connections bring theirs at the same time.
 */
export class PipelinedRequests extends WaitingRequests {
  constructor(socket: Socket) {
    super(socket);
    // Node.js resumes reading when an answer was sent, and for the rest of a body.
    socket.on("resume", () => {
      if (this.isWaiting) socket.pause();
    });
  }

  protected override readOn(): void {
    if (!isPausedByServer(this.socket)) super.readOn();
  }
}

export interface WaitingConnection {
  /** Undefined until a request had to wait for a turn. */
  waiting: WaitingRequests | undefined;
}

/** The waiting requests of a connection. Created when the first request has to wait. */
export const pipelinedRequests = (connection: WaitingConnection, socket: Socket): WaitingRequests =>
  (connection.waiting ??= new PipelinedRequests(socket));
