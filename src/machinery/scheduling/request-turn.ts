import type { MaybePromise } from "../api/maybe-promise.ts";
import type { UserInfo } from "../api/user-info.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";
import { sharePath } from "./share-path.ts";
import type { SharePath } from "./share-path.ts";

/** How long the work of long requests may block the event loop. A single step that takes longer is not divided. */
const turnMilliseconds = 5;

/** Texts of up to so many characters or bytes are parsed, changed and written in much less than a turn. */
export const shortTextLength = 16 * 1024;

/** Objects of up to so many characters are parsed, changed or converted so fast that hundreds of them take only a few turns. */
export const smallObjectLength = 2 * 1024;

/** Waiting requests that may take long. */
const ofUsers = new RoundRobinQueue<() => void>();
/** Waiting requests whose user and work are not known yet. Most of these are short, so they do not wait behind the long requests. */
const ofAddresses = new RoundRobinQueue<() => void>();
/** In every other turn, the requests of addresses come first. */
let isTurnOfAddresses = false;
/** The requests whose turn ended before their work did. They continue before other requests begin, so that fewer objects are in memory. */
const interrupted: (() => void)[] = [];
let turnStartedAt = 0;
/** When the first request came in this turn of the event loop. Undefined: none has come. */
let firstCameAt: number | undefined;
let isGiving = false;
let isInTurn = false;
let acceptedAt = Number.NEGATIVE_INFINITY;
/** When requests last used up the time of a turn. */
let usedUpAt = Number.NEGATIVE_INFINITY;

/**
 * Waits until a request that may take long has its turn: so a burst of such requests is divided into turns of the event loop. Users take
 * turns, and timers and short requests run in between. A request runs until it awaits something or ends; only then the next one begins.
 */
export const requestTurn = (user: UserInfo): Promise<void> => turnIn(ofUsers, sharePath(user));

/**
 * As `requestTurn`, for a request whose user is not known yet, nor whether it may take long. Addresses take turns, and get half of the
 * time. `path`: an `addressPath`, or a path below one.
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
 * Whether a request that has just arrived must wait for a turn, because the requests that arrived before it in this turn of the event loop
 * have used up the time. Call it once for each request.
 */
export function mustWaitForTurn(): boolean {
  if (firstCameAt !== undefined) return mustEndTurn(firstCameAt);
  firstCameAt = performance.now();
  setImmediate(() => (firstCameAt = undefined));
  return false;
}

/**
 * Returns a promise to await when the turn of the running request is over, otherwise undefined. Call it between the steps of a request
 * that may be long. A request that runs without a turn, as short requests do, never pauses.
 */
export function pauseInTurn(): Promise<void> | undefined {
  if (!isInTurn || !mustEndTurn(turnStartedAt)) return undefined;
  return new Promise((resolve) => interrupted.push(resolve));
}

/** Does the work of a request that may be long, and returns its result. After each step, it pauses if the turn is over. */
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

/** Joins texts, which the iterable makes one by one, in turns. */
export const joinInTurns = (parts: Iterable<string>): MaybePromise<string> => inTurns(joined(parts));

function* joined(parts: Iterable<string>): Generator<undefined, string> {
  let text = "";
  for (const part of parts) {
    text += part;
    yield;
  }
  return text;
}

/**
 * Call it for each connection that a listener accepts. libuv accepts one in each turn of the event loop, and the others wait in the kernel,
 * which drops connections when a thousand wait. So while connections come, requests get a whole turn, then turns with one piece of work
 * each for as long as a whole turn, and so on.
 */
export function connectionAccepted(): void {
  acceptedAt = performance.now();
}

function mustEndTurn(startedAt: number): boolean {
  const now = performance.now();
  if (now - startedAt >= turnMilliseconds) {
    usedUpAt = now;
    return true;
  }
  return now - acceptedAt < turnMilliseconds && now - usedUpAt < turnMilliseconds;
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
  if (mustEndTurn(turnStartedAt)) setImmediate(beginTurn);
  else giveTurn();
}
