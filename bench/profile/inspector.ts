import { once } from "node:events";
import { WebSocket } from "ws";

/** The inspector of another Node.js process, which profiles it from outside. */
export class Inspector {
  readonly #socket: WebSocket;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects to a process that was started with `--inspect=127.0.0.1:<port>`. */
  static async connect(port: number): Promise<Inspector> {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      webSocketDebuggerUrl: string;
    }[]; // the inspector's format
    const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "", { perMessageDeflate: false });
    await once(socket, "open");
    return new Inspector(socket);
  }

  /** Calls a method of the DevTools protocol. Rejects with the process' refusal. */
  send(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = new Promise((resolve, reject) => {
      const listen = (data: Buffer): void => {
        const message = JSON.parse(data.toString()) as { id?: number; result?: unknown; error?: { message: string } }; // the inspector's format
        if (message.id !== id) return;
        this.#socket.off("message", listen);
        if (message.error === undefined) resolve(message.result);
        else reject(new Error(message.error.message));
      };
      this.#socket.on("message", listen);
    });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }

  close(): void {
    this.#socket.close();
  }
}
