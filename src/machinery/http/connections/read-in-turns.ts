import type { Socket } from "node:net";
import { mustWaitForTurn } from "../../scheduling/request-turn.ts";
import { readOnlyWhileFlowing } from "./socket-reading.ts";
import type { WaitingRequests } from "./waiting-requests.ts";

interface InTurns {
  /** The waiting requests of the connection, which can pause its reading. */
  readonly waiting: () => WaitingRequests;
  readonly read: (bytes: Buffer) => void;
}

/**
 * Passes on the bytes of a connection. One turn of the event loop reads all connections on which bytes have come. Once it has taken as long
 * as a turn may take, the bytes of further connections wait for the turns of their addresses, and until then these are not read.
 */
export function readInTurns(socket: Socket, { waiting, read }: InTurns): void {
  /** Whether the next bytes have waited for a turn: they are then read, however long this turn of the event loop has taken. */
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
