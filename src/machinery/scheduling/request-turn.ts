import type { MaybePromise } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { sharePath } from "./share-path.ts";
import type { SharePath } from "./share-path.ts";

/** How long long requests may keep everything else waiting. One that takes longer by itself is not divided. */
const turnMilliseconds = 5;

/** Texts of so many characters or bytes are read, changed and shown in much less than a turn. */
export const shortTextLength = 16 * 1024;

/**
 * Objects of so many characters are read, changed, or shown in another form, so fast that hundreds at once take no more than a few
 * turns.
 */
export const smallObjectLength = 2 * 1024;

/** Requests that may take long. */
const ofUsers = new RoundRobinQueue<() => void>();
/** Requests of which nothing is known yet. Most are short: they do not wait for the long ones. */
const ofAddresses = new RoundRobinQueue<() => void>();
/** Every other turn is the addresses'. */
let isTurnOfAddresses = false;
/** The requests whose turn ended before their work did. They go on before others begin, so that the objects of fewer are in memory. */
const interrupted: (() => void)[] = [];
let turnStartedAt = 0;
/** When the first request came in this turn of the event loop. Undefined: none has come. */
let firstCameAt: number | undefined;
let isGiving = false;
let isInTurn = false;

/**
 * Lets a request wait that may take long, so that a burst of them is divided into turns of the event loop. Users take turns, and
 * timers and short requests come in between. One runs until it waits for something, or has ended; only then the next one begins.
 */
export const requestTurn = (user: UserInfo): Promise<void> => turnIn(ofUsers, sharePath(user));

/**
 * The same for a request of which it is not known yet whose it is, nor whether it may take long. Addresses take turns, and have half of
 * the time that long requests of users would have. `path`: an `addressPath`, or one below it.
 */
export const requestTurnOfAddress = (path: SharePath): Promise<void> => turnIn(ofAddresses, path);

function turnIn(queue: RoundRobinQueue<() => void>, path: SharePath): Promise<void> {
  return new Promise((resolve) => {
    queue.add(path, resolve);
    if (isGiving) return;
    isGiving = true;
    setImmediate(beginTurn);
  });
}

/**
 * Whether those that came in this turn of the event loop and began at once have taken as long as a turn: then the next one has to wait for
 * its own. Call it once for each that comes.
 */
export function mustWaitForTurn(): boolean {
  if (firstCameAt !== undefined) return isTurnOver(firstCameAt);
  firstCameAt = performance.now();
  setImmediate(() => (firstCameAt = undefined));
  return false;
}

/**
 * Call it between the steps of a request that may be long, and await the promise if there is one: the request has its turn, which is over.
 * A request without a turn, as short ones are, goes on.
 */
export function pauseInTurn(): Promise<void> | undefined {
  if (!isInTurn || !isTurnOver(turnStartedAt)) return undefined;
  return new Promise((resolve) => interrupted.push(resolve));
}

/** Does the work of a request that may be long. After each step, it pauses if its turn is over. */
export function inTurns<T>(work: Generator<undefined, T>): MaybePromise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    const pause = pauseInTurn();
    if (pause !== undefined) return goOnAfter(pause, work);
  }
}

async function goOnAfter<T>(pause: Promise<void>, work: Generator<undefined, T>): Promise<T> {
  await pause;
  return inTurns(work);
}

/** Joins texts, each of which is made when its turn has come. */
export const joinInTurns = (parts: Iterable<string>): MaybePromise<string> => inTurns(joined(parts));

function* joined(parts: Iterable<string>): Generator<undefined, string> {
  let text = "";
  for (const part of parts) {
    text += part;
    yield;
  }
  return text;
}

/** Whether work that began at `startedAt` has lasted as long as a turn, and has to wait for the next. */
export const isTurnOver = (startedAt: number): boolean => performance.now() - startedAt >= turnMilliseconds;

function beginTurn(): void {
  turnStartedAt = performance.now();
  isTurnOfAddresses = !isTurnOfAddresses;
  giveTurn();
}

const nextOfUsers = (): (() => void) | undefined => interrupted.shift() ?? ofUsers.take()?.item;

const nextOfAddresses = (): (() => void) | undefined => ofAddresses.take()?.item;

function giveTurn(): void {
  const next = isTurnOfAddresses ? (nextOfAddresses() ?? nextOfUsers()) : (nextOfUsers() ?? nextOfAddresses());
  if (next === undefined) {
    isGiving = false;
    return;
  }
  isInTurn = true;
  next();
  // Runs after everything that the request does without waiting.
  queueMicrotask(() => process.nextTick(goOn));
}

function goOn(): void {
  isInTurn = false;
  if (isTurnOver(turnStartedAt)) setImmediate(beginTurn);
  else giveTurn();
}
