/** Calls back once after so many milliseconds, unless what it returns is called before: injected, so that tests decide it. */
export type Schedule = (milliseconds: number, callback: () => void) => () => void;

/** Timers that do not keep the process alive. */
export const systemSchedule: Schedule = (milliseconds, callback) => {
  const timer = setTimeout(callback, milliseconds).unref();
  return () => clearTimeout(timer);
};
