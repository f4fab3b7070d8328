/** A buffer of length 0, for all who need one. */
export const noBytes: Buffer = Buffer.alloc(0);
