import { createHash } from "node:crypto";
import { systemClock } from "../../machinery/api/clock.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import { kmsClient } from "../../machinery/storage/encryption/kms/kms-client.ts";
import { KmsTransformer } from "../../machinery/storage/encryption/kms/kms-transformer.ts";
import type { KmsProvider } from "./encryption-configuration.ts";
import type { Log } from "../../machinery/logging/log.ts";

interface KmsPluginsOptions {
  readonly log: Pick<Log, "info" | "warn">;
  /** Called when a plugin has unwrapped a key that it could not unwrap before. */
  readonly onReadable: () => void;
}

/** How often the plugins are checked for whether it is time to ask them. */
const pollMilliseconds = 5_000;

/** The KMS plugins of the current configuration. A plugin that a new configuration does not change keeps its keys. */
export class KmsPlugins {
  readonly #options: KmsPluginsOptions;
  readonly #polls: { stop(): void };
  #plugins: ReadonlyMap<string, KmsTransformer> = new Map();

  constructor(options: KmsPluginsOptions) {
    this.#options = options;
    this.#polls = periodically({
      milliseconds: pollMilliseconds,
      task: () => this.#pollAll(),
      onFailure: (error) => options.log.warn({ err: error }, "could not ask the KMS plugins, will retry"),
    });
  }

  /** Calls `use`, which opens the plugins of a new configuration. Afterwards closes the earlier plugins that `use` did not open. */
  next<T>(use: (open: (provider: KmsProvider) => KmsTransformer) => T): T {
    const before = this.#plugins;
    const plugins = new Map<string, KmsTransformer>();
    const made: KmsTransformer[] = [];
    try {
      const result = use((provider) => {
        const source = JSON.stringify(provider);
        const known = plugins.get(source) ?? before.get(source);
        const plugin = known ?? this.#open(provider);
        if (known === undefined) made.push(plugin);
        plugins.set(source, plugin);
        return plugin;
      });
      this.#plugins = plugins;
      for (const [source, plugin] of before) if (!plugins.has(source)) plugin.close();
      void this.#pollAll();
      return result;
    } catch (error) {
      for (const plugin of made) plugin.close();
      throw error;
    }
  }

  /** Rejects unless all plugins answer. */
  async check(): Promise<void> {
    await Promise.all([...this.#plugins.values()].map((plugin) => plugin.check()));
  }

  close(): void {
    this.#polls.stop();
    for (const plugin of this.#plugins.values()) plugin.close();
  }

  async #pollAll(): Promise<void> {
    await Promise.all([...this.#plugins.values()].map((plugin) => plugin.pollWhenDue()));
  }

  #open({ name, endpoint, timeoutMilliseconds }: KmsProvider): KmsTransformer {
    const { log, onReadable } = this.#options;
    return new KmsTransformer({
      name,
      client: kmsClient({ endpoint, timeoutMilliseconds }),
      clock: systemClock,
      onReadable,
      onEvent(event) {
        if (event.type === "works again") log.info({ plugin: name }, "the KMS plugin works again");
        else if (event.type === "key") {
          log.info(
            { plugin: name, keyIdHash: hashOf(event.keyId) },
            "made a new data encryption key for the KMS's key",
          );
        } else {
          log.warn(
            { plugin: name, endpoint, reason: event.reason },
            "the KMS plugin does not work: what it protects can't be written, and can be read only where its key is known",
          );
        }
      },
    });
  }
}

/** The hash of a key's ID, because the ID itself may say more than others should know. Upstream shows hashes too. */
const hashOf = (keyId: string): string => `sha256:${createHash("sha256").update(keyId).digest("hex")}`;
