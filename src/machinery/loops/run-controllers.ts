import type { Controller, ControllerContext } from "./controller.ts";

/**
 * Starts controllers and their informers. The returned function stops them, and resolves when the current work is done.
 */
export function runControllers(
  controllers: readonly Controller[],
  context: ControllerContext,
): { readonly synced: Promise<void>; stop(): Promise<void> } {
  const stopping = new AbortController();
  const started = controllers.map((controller) => controller.start(context));
  const synced = context.informers.start(stopping.signal).then(() => {
    for (const { onSynced } of started) onSynced?.();
  });
  return {
    synced,
    async stop() {
      stopping.abort();
      await Promise.all(started.map(({ queue }) => queue.stop()));
    },
  };
}
