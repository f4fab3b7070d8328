/** How long long requests may keep everything else waiting. One that takes longer by itself is not divided. */
const turnMilliseconds = 5;

/** Texts of so many characters or bytes are read, changed and shown in much less than a turn. */
export const shortTextLength = 16 * 1024;

/** The requests that wait, by user, in the order in which the users get their turns. */
const waiting = new Map<string, (() => void)[]>();
let turnStartedAt = 0;
let isGiving = false;

/**
 * Lets a request wait that may take long, so that a burst of them is divided into turns of the event loop. Users take turns, and
 * timers and short requests come in between. One runs until it waits for something, or has ended; only then the next one begins.
 */
export function requestTurn(username: string): Promise<void> {
  return new Promise((resolve) => {
    const queue = waiting.get(username);
    if (queue === undefined) waiting.set(username, [resolve]);
    else queue.push(resolve);
    if (isGiving) return;
    isGiving = true;
    setImmediate(beginTurn);
  });
}

function beginTurn(): void {
  turnStartedAt = performance.now();
  giveTurn();
}

function giveTurn(): void {
  const [next] = waiting;
  if (next === undefined) {
    isGiving = false;
    return;
  }
  const [username, queue] = next;
  const start = queue.shift();
  waiting.delete(username);
  if (queue.length > 0) waiting.set(username, queue);
  start?.();
  // Behind all that the request does now.
  queueMicrotask(() => process.nextTick(goOn));
}

function goOn(): void {
  if (performance.now() - turnStartedAt < turnMilliseconds) giveTurn();
  else setImmediate(beginTurn);
}
