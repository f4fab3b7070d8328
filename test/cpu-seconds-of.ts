/** The processor time that work takes: unlike the time on a clock, it does not grow with what else the machine does. */
export async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  return process.cpuUsage(start).user / 1_000_000;
}
