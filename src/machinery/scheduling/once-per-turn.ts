/**
 * Returns a function that lets `run` run in the next turn of the event loop: once, however often it is called before. Events that come
 * while a process is busy are all delivered in one turn.
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
