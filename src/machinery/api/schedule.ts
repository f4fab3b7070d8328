/**
 * Calls back once after so many milliseconds, unless what it returns is called before: injected, so that tests decide when
 * time passes.
 */
export type Schedule = (callback: () => void, milliseconds: number) => () => void;

/** Timers that do not keep the process alive. */
export const systemSchedule: Schedule = (callback, milliseconds) => {
  const timer = setTimeout(callback, milliseconds).unref();
  return () => clearTimeout(timer);
};
