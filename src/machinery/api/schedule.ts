/**
 * Calls back once after some milliseconds, unless the returned function cancels it. It is injected, so that tests can
 * control it.
 */
export type Schedule = (callback: () => void, milliseconds: number) => () => void;

/** Timers that do not keep the process alive. */
export const systemSchedule: Schedule = (callback, milliseconds) => {
  const timer = setTimeout(callback, milliseconds).unref();
  return () => clearTimeout(timer);
};
