import type { FuzzRequest } from "./fuzz-request.ts";

/** Sends at most so many smaller requests for one find. */
const maximumTries = 400;

/**
 * The smallest request that is found to show the same fault: without headers, query options, members and parts of texts
 * that it does not need. `shows` sends it and says whether the fault is there again.
 */
export async function minimise(
  request: FuzzRequest,
  shows: (smaller: FuzzRequest) => Promise<boolean>,
): Promise<FuzzRequest> {
  let smallest = request;
  let tries = 0;
  for (let hasShrunk = true; hasShrunk && tries < maximumTries;) {
    hasShrunk = false;
    for (const candidate of smallerRequests(smallest)) {
      if (++tries > maximumTries) break;
      if (!(await shows(candidate))) continue;
      smallest = candidate;
      hasShrunk = true;
      break;
    }
  }
  return smallest;
}

function* smallerRequests(request: FuzzRequest): Generator<FuzzRequest> {
  const { headers, target, body } = request;
  for (const { from, to } of partsOf(headers.length)) {
    yield { ...request, headers: headers.toSpliced(from, to - from) };
  }
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const options = query.split("&");
  if (query !== "") {
    for (const index of options.keys()) {
      const rest = options.toSpliced(index, 1).join("&");
      yield { ...request, target: rest === "" ? path : `${path}?${rest}` };
    }
  }
  const value = parsed(body);
  if (value === undefined) {
    for (const part of partsOf(body.length)) {
      yield { ...request, body: Buffer.concat([body.subarray(0, part.from), body.subarray(part.to)]) };
    }
  } else {
    for (const smaller of smallerValues(value)) yield { ...request, body: Buffer.from(JSON.stringify(smaller) ?? "") };
  }
}

function parsed(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Halves, then quarters, down to sixteenths. */
function* partsOf(length: number): Generator<{ readonly from: number; readonly to: number }> {
  for (let count = 2; count <= 16 && count <= length; count *= 2) {
    const size = Math.ceil(length / count);
    for (let from = 0; from < length; from += size) yield { from, to: from + size };
  }
}

/** Smaller versions of the value: without members and runs of entries, large parts first, or with texts cut in half. */
function* smallerValues(value: unknown): Generator {
  if (typeof value === "string" && value.length > 1) {
    yield value.slice(0, Math.ceil(value.length / 2));
    yield value.slice(Math.ceil(value.length / 2));
  } else if (Array.isArray(value)) {
    for (const { from, to } of partsOf(value.length)) yield value.toSpliced(from, to - from);
    if (value.length === 1) yield [];
    for (const index of [...value.keys()].slice(0, 50)) {
      for (const smaller of smallerValues(value[index])) yield value.with(index, smaller);
    }
  } else if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    for (const { from, to } of partsOf(entries.length)) yield Object.fromEntries(entries.toSpliced(from, to - from));
    for (const [index, [name, member]] of entries.slice(0, 50).entries()) {
      for (const smaller of smallerValues(member)) yield Object.fromEntries(entries.with(index, [name, smaller]));
    }
  }
}
