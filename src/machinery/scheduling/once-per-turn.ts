/**
 * Returns a function that schedules `run` for the next turn of the event loop: once, however often the function is called until then.
 * Events that arrive while a process is busy are all delivered in one turn, so they lead to one run.
 */
export function oncePerTurn(run: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setImmediate(() => {
      isWaiting = false;
      run();
    });
  };
}
