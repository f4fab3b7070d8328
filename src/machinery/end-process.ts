/**
 * Ends the process at once, with an exit code, after the listeners of its `exit` event. Use it in place of `process.exit`, which waits for
 * V8's threads: one that compiles may wait for the main thread to collect garbage, and then the process never ends
 * (https://github.com/nodejs/node/issues/54918). A shell takes the place of the program in this process, and ends with the code.
 */
export function endProcess(code: number): never {
  process.emit("exit", code);
  try {
    // An older Node.js, which can run the agent, does not have it.
    process.execve?.("/bin/sh", ["sh", "-c", `exit ${code}`], {});
  } catch {
    // There is no shell, or no program may be started.
  }
  return process.exit(code);
}
