import { once } from "node:events";
import { WebSocket } from "ws";

/** A node of V8's sampling profile: what one function allocated, and what the functions that it called did. */
interface ProfileNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

/**
 * Counts the bytes that a server allocates, collected or not, through the inspector of Node.js. A count does not depend
 * on what else the machine does, as times do. V8 looks at one allocation in 4 KiB: sample some tens of megabytes.
 */
export class HeapSampler {
  readonly #socket: WebSocket;
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects to a process that was started with `--inspect=127.0.0.1:<port>`. */
  static async connect(port: number): Promise<HeapSampler> {
    const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
      webSocketDebuggerUrl: string;
    }[]; // the inspector's format
    const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "", { perMessageDeflate: false });
    await once(socket, "open");
    return new HeapSampler(socket);
  }

  /** Bytes by function while `load` ran; the function that allocated most comes first. */
  async sample(load: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
    await this.#send("HeapProfiler.startSampling", {
      samplingInterval: 4096,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await load();
    const { profile } = (await this.#send("HeapProfiler.stopSampling", {})) as { profile: { head: ProfileNode } }; // the inspector's format
    const bytes = new Map<string, number>();
    const waiting = [profile.head];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      const { functionName, url, lineNumber } = node.callFrame;
      const name = `${functionName || "(anonymous)"} ${url.replace(/^.*\/(src|node_modules)\//, "")}:${lineNumber + 1}`;
      bytes.set(name, (bytes.get(name) ?? 0) + node.selfSize);
      waiting.push(...node.children);
    }
    return new Map([...bytes].sort(([, a], [, b]) => b - a));
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: Record<string, unknown>): Promise<unknown> {
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
}
