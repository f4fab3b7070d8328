import type { RootDatabase } from "lmdb";

/** The part of lmdb's native environment that its JavaScript calls; its types leave it out. */
interface NativeEnvironment {
  startWriting(address: number, onStatus: (status: number) => unknown): unknown;
}

/**
 * Keeps lmdb from printing an error with its stack for each commit that fails. Whoever awaits the write hears of the failure,
 * and printing blocks the process when nobody reads its standard error.
 */
export function silenceCommitErrors(root: RootDatabase<Buffer, Buffer>): void {
  const { env } = root as unknown as { readonly env: NativeEnvironment }; // see there
  const startWriting = env.startWriting.bind(env);
  const quietly: NativeEnvironment["startWriting"] = (address, onStatus) =>
    startWriting(address, (status) => withoutPrinting(() => onStatus(status)));
  Object.defineProperty(env, "startWriting", { value: quietly }); // the native one cannot be assigned to
}

/** `call` runs to its end before anything else does: nobody else's output is lost. */
function withoutPrinting(call: () => unknown): unknown {
  const print = console.error;
  console.error = () => {};
  try {
    return call();
  } finally {
    console.error = print;
  }
}
