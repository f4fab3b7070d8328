/** An event of a watch in one representation. */
interface RecentFrame {
  readonly bytes: Buffer;
  /** The second since the epoch for which the ages in a table hold. 0: the frame does not depend on the time. */
  readonly second: number;
}

interface RecentFramesOptions {
  readonly maximumObjects: number;
  /** The limit for all frames together. */
  readonly maximumBytes: number;
}

/** The frames of the most recently changed objects, by name. Beyond the bounds, the frames of the oldest object are dropped. */
export class RecentFrames {
  readonly #options: RecentFramesOptions;
  readonly #byObject = new Map<object, Map<string, RecentFrame>>();
  #bytes = 0;

  constructor(options: RecentFramesOptions) {
    this.#options = options;
  }

  of(object: object): ReadonlyMap<string, RecentFrame> | undefined {
    return this.#byObject.get(object);
  }

  /** Replaces the object's frame of this name. */
  add(object: object, { name, frame }: { readonly name: string; readonly frame: RecentFrame }): void {
    const frames = this.#byObject.get(object) ?? new Map<string, RecentFrame>();
    this.#bytes += frame.bytes.length - (frames.get(name)?.bytes.length ?? 0);
    frames.set(name, frame);
    this.#byObject.set(object, frames);
    const { maximumObjects, maximumBytes } = this.#options;
    for (const [oldest, dropped] of this.#byObject) {
      if (this.#byObject.size <= maximumObjects && this.#bytes <= maximumBytes) return;
      this.#byObject.delete(oldest);
      for (const { bytes } of dropped.values()) this.#bytes -= bytes.length;
    }
  }
}
