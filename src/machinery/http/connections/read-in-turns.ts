import type { Socket } from "node:net";
import { mustWaitForTurn } from "../../scheduling/request-turn.ts";
import { readOnlyWhileFlowing } from "./socket-reading.ts";
import type { WaitingRequests } from "./waiting-requests.ts";

interface InTurns {
  /** What can keep the connection from being read. */
  readonly waiting: () => WaitingRequests;
  readonly read: (bytes: Buffer) => void;
}

/**
 * Passes on what comes on a connection. One turn of the event loop reads all connections that have sent something. When it has taken as
 * long as a turn, what comes on others waits for the turns of their addresses, and they are not read until then.
 */
export function readInTurns(socket: Socket, { waiting, read }: InTurns): void {
  /** Whether what comes next has waited for a turn: then it is read, however much else has come in this turn of the event loop. */
  let hasTurn = false;
  readOnlyWhileFlowing(socket);
  socket.on("data", (bytes: Buffer) => {
    if (hasTurn || !mustWaitForTurn()) {
      hasTurn = false;
      return read(bytes);
    }
    hasTurn = true;
    waiting().readInTurn();
    socket.unshift(bytes);
  });
}
