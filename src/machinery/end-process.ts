/**
 * Ends the process at once, with an exit code, after the listeners of its `exit` event. Use it in place of `process.exit`, which waits for
 * V8's threads: one that compiles may wait for the main thread to collect garbage, and then the process never ends
 * (https://github.com/nodejs/node/issues/54918). Another program in the same process ends for it, which leaves nothing of this one.
 */
export function endProcess(code: number): never {
  process.emit("exit", code);
  try {
    // An older Node.js, which can run the agent, does not have it.
    process.execve?.(process.execPath, [process.execPath, "--eval", `process.exitCode = ${code}`], {});
  } catch {
    // Not possible here, as in a sandbox without other programs.
  }
  return process.exit(code);
}
