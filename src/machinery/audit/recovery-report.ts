import type { Schedule } from "../api/clock.ts";

const intervalMilliseconds = 60_000;

/**
 * Reports that events are written again, with the number of lost events. A queue that is only too full loses and recovers many times a
 * second, so all that is lost in the minute after a report is reported once, at the end of the minute.
 */
export function recoveryReport(schedule: Schedule, report: (lost: number) => void): (lost: number) => void {
  let isQuiet = false;
  let unreported = 0;
  const reportNow = (): void => {
    isQuiet = true;
    report(unreported);
    unreported = 0;
    schedule(() => {
      isQuiet = false;
      if (unreported > 0) reportNow();
    }, intervalMilliseconds);
  };
  return (lost) => {
    unreported += lost;
    if (!isQuiet) reportNow();
  };
}
