/** The processor time of some work. Unlike wall-clock time, it does not grow with the load of the machine. */
export async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  return process.cpuUsage(start).user / 1_000_000;
}
