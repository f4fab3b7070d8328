import type { Schedule } from "../api/clock.ts";

const intervalMilliseconds = 60_000;

/**
 * Reports that events are written again, with the number of lost events. A queue that is only too full loses and recovers many times a
 * second, so all that is lost in the minute after a report is reported once, at the end of the minute.
 */
export function recoveryReport(schedule: Schedule, tell: (lost: number) => void): (lost: number) => void {
  let isQuiet = false;
  let untold = 0;
  const report = (): void => {
    isQuiet = true;
    tell(untold);
    untold = 0;
    schedule(() => {
      isQuiet = false;
      if (untold > 0) report();
    }, intervalMilliseconds);
  };
  return (lost) => {
    untold += lost;
    if (!isQuiet) report();
  };
}
