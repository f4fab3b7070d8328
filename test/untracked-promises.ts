import hooks from "node:async_hooks";
import type { AsyncResource } from "node:async_hooks";

/**
 * node:test follows every promise with a hook, to know which test an error or an `after` belongs to: up to a third of the CPU time of
 * tests that send many requests. AsyncLocalStorage knows the same for almost nothing. Where node:test no longer asks the module for
 * these functions, this has no effect.
 */
const { AsyncLocalStorage, createHook, executionAsyncId } = hooks;
const { runInAsyncScope } = hooks.AsyncResource.prototype;
const running = new AsyncLocalStorage<number>();

Object.assign(hooks, {
  createHook: (callbacks: Parameters<typeof createHook>[0]) => createHook({ ...callbacks, trackPromises: false }),
  executionAsyncId: () => running.getStore() ?? executionAsyncId(),
});
Object.assign(hooks.AsyncResource.prototype, {
  runInAsyncScope(this: AsyncResource, work: () => unknown, receiver: unknown, ...given: []) {
    return runInAsyncScope.call(this, () => running.run(this.asyncId(), () => Reflect.apply(work, receiver, given)));
  },
});
